package database

import (
	"context"
	"database/sql"
	"fmt"
)

// QueryAll reads each row of a query into a new T. The function to returns pointers to the fields
// that take the columns.
func QueryAll[T any](ctx context.Context, tx *sql.Tx, to func(*T) []any, query string,
	args ...any) (all []T, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := rows.Scan(to(&row)...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// ScanHash returns a scanner into *to. It refuses a value of another length than 32 bytes.
func ScanHash[H ~[32]byte](to *H) sql.Scanner {
	return scanner(func(v any) error {
		b, _ := v.([]byte)
		if len(b) != 32 {
			return fmt.Errorf("a hash has %d bytes, the database is damaged", len(b))
		}
		*to = H(b)
		return nil
	})
}

type scanner func(any) error

func (s scanner) Scan(v any) error { return s(v) }
