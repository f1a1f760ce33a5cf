package database

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgres is a statement of PostgreSQL, whose values come as text.
type postgres struct {
	conn   *pgconn.PgConn
	parsed *pgconn.StatementDescription
	result *pgconn.ResultReader
	forms  []form
}

const statementName = "records"

func connectPostgres(ctx context.Context, address string, limit time.Duration) (source, error) {
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		return nil, noAddress
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	p := &postgres{conn: conn}
	// Text is the same wherever the database stands: ISO dates, moments in UTC, every digit.
	_, err = conn.Exec(ctx, fmt.Sprintf(`BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;
		SET LOCAL statement_timeout = %d; SET LOCAL datestyle = 'ISO'; SET LOCAL timezone = 'UTC';
		SET LOCAL extra_float_digits = 3; SET LOCAL client_encoding = 'UTF8'`, limit.Milliseconds())).ReadAll()
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *postgres) parse(ctx context.Context, text string) (err error) {
	p.parsed, err = p.conn.Prepare(ctx, statementName, text, nil)
	switch {
	case err != nil:
		return err
	case len(p.parsed.ParamOIDs) > 0:
		return ours("sql: it has a place for a value, $1: write the value")
	case len(p.parsed.Fields) == 0:
		return ours("sql: it gives no columns: write a SELECT that names some")
	}
	return nil
}

func (p *postgres) run(ctx context.Context) ([]column, error) {
	// A type's name, or text for all that are texts: enums and citext are.
	const of = `SELECT CASE WHEN typtype = 'e' OR typcategory = 'S' THEN 'text' ELSE typname END FROM pg_catalog.pg_type WHERE oid = $1`
	var columns []column
	for _, f := range p.parsed.Fields {
		oid := strconv.FormatUint(uint64(f.DataTypeOID), 10)
		answer := p.conn.ExecParams(ctx, of, [][]byte{[]byte(oid)}, nil, nil, nil).Read()
		if answer.Err != nil {
			return nil, answer.Err
		}
		name := "type " + oid
		if len(answer.Rows) == 1 {
			name = string(answer.Rows[0][0])
		}
		columns = append(columns, column{name: f.Name, of: name, form: forms[Postgres][name]})
		p.forms = append(p.forms, forms[Postgres][name])
	}
	p.result = p.conn.ExecPrepared(ctx, statementName, nil, nil, nil)
	return columns, nil
}

func (p *postgres) next(cells []string) (bool, error) {
	if !p.result.NextRow() {
		_, err := p.result.Close()
		return false, err
	}
	for i, v := range p.result.Values() {
		if cells[i] = ""; v != nil {
			cells[i] = p.forms[i](string(v))
		}
	}
	return true, nil
}

func (p *postgres) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	p.conn.Close(ctx)
}
