package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
)

// leases is the table by which replicas know who leads. See Lease.
const leases = `CREATE SCHEMA caucus; CREATE TABLE caucus.lease (one BOOLEAN PRIMARY KEY CHECK (one), epoch BIGINT NOT NULL, leader TEXT NOT NULL);
	INSERT INTO caucus.lease VALUES (TRUE, 0, '')`

// CopyToServer copies all rows of files, in one transaction, into new tables in a PostgreSQL
// database; to is its address. Nobody may write to the files meanwhile. Carry refuses a database
// that has such tables already, and returns the number of rows.
func CopyToServer(ctx context.Context, to string, files ...StoreFile) (rows int, err error) {
	c, err := settings(to)
	if err != nil {
		return 0, err
	}
	db := stdlib.OpenDB(*c)
	defer db.Close()
	err = within(ctx, db, nil, func(tx *sql.Tx) error {
		if _, err := tx.Exec(leases); err != nil {
			return fmt.Errorf("is there a coordinator already? Give another database: %w", err)
		}
		for _, f := range files {
			if _, err := tx.Exec(fmt.Sprintf(`CREATE SCHEMA %s; SET LOCAL search_path TO %[1]s; %s;
				CREATE TABLE version (application BIGINT, number BIGINT); INSERT INTO version VALUES (%d, 0)`, f.place(), f.SetupSQL, f.Application)); err != nil {
				return err
			}
			if err := f.migrateServer(tx); err != nil {
				return err
			}
			n, err := f.carry(ctx, tx)
			if rows += n; err != nil {
				return fmt.Errorf("copy %s: %w", f.Name, err)
			}
		}
		return nil
	})
	return rows, err
}

func (s StoreFile) carry(ctx context.Context, to *sql.Tx) (rows int, err error) {
	if err := Check(s.Path); err != nil {
		return 0, err
	}
	from, err := s.Open(s.Path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	return rows, from.View(ctx, func(tx *sql.Tx) error {
		var tables string
		err := tx.QueryRow("SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid)").Scan(&tables)
		if err != nil {
			return err
		}
		for table := range strings.FieldsSeq(tables) {
			n, err := carryTable(ctx, tx, to, table)
			if rows += n; err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		return nil
	})
}

func carryTable(ctx context.Context, from, to *sql.Tx, table string) (n int, err error) {
	// delete what the migrations wrote
	if _, err := to.ExecContext(ctx, "DELETE FROM "+table); err != nil {
		return 0, err
	}
	rows, err := from.QueryContext(ctx, "SELECT * FROM "+table)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return 0, err
	}
	names, places := make([]string, len(types)), make([]string, len(types))
	values, at := make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		names[i], places[i], at[i] = t.Name(), fmt.Sprint("$", i+1), &values[i]
	}
	insert, err := to.PrepareContext(ctx,
		fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "),
			strings.Join(places, ", ")))
	if err != nil {
		return 0, err
	}
	defer insert.Close()
	for ; rows.Next(); n++ {
		if err := rows.Scan(at...); err != nil {
			return n, err
		}
		for i, t := range types {
			if n, is := values[i].(int64); is && t.DatabaseTypeName() == "BOOLEAN" {
				values[i] = n != 0
			}
		}
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}
