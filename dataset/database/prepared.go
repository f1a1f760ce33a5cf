package database

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// prepared is a statement of MySQL, MariaDB or SQLite. It is prepared, for only then MySQL sends
// numbers with every digit.
type prepared struct {
	driver    string
	db        *sql.DB
	conn      *sql.Conn
	statement *sql.Stmt
	rows      *sql.Rows
	columns   []column
	values    []any
	into      []any // pointers to the values
}

func connectMySQL(ctx context.Context, address string, limit time.Duration) (source, error) {
	config, err := mysql.ParseDSN(address)
	if err != nil {
		return nil, noAddress
	}
	config.ParseTime, config.MultiStatements, config.InterpolateParams, config.ColumnsWithAlias = false, false, false, false
	config.AllowAllFiles = false
	config.Logger = &mysql.NopLogger{} // it would write to stderr
	config.DialFunc = func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(dialing, network, address)
		if err == nil { // otherwise the driver reads all rows of a query that it ends
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, noAddress
	}
	// A comment with M! is for MariaDB alone, one with !50708 for MySQL alone.
	return begun(ctx, MySQL, sql.OpenDB(connector), "SET NAMES utf8mb4", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		fmt.Sprintf("SET SESSION time_zone = '+00:00', net_write_timeout = %d /*M!100100 , max_statement_time = %g */ /*!50708 , max_execution_time = %d */",
			1+int(limit.Seconds()), limit.Seconds(), limit.Milliseconds()),
		"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
}

// connectSQLite opens a file that exists. A name in quotes is never a text in it.
func connectSQLite(ctx context.Context, path string) (source, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true, RawQuery: "mode=ro&_query_only=1&_dqs=0&_timeout=20000"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	return begun(ctx, SQLite, db, "BEGIN")
}

// begun is a connection on which all was done.
func begun(ctx context.Context, driver string, db *sql.DB, all ...string) (_ source, err error) {
	p := &prepared{driver: driver, db: db}
	p.conn, err = db.Conn(ctx)
	for i := 0; i < len(all) && err == nil; i++ {
		_, err = p.conn.ExecContext(ctx, all[i])
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *prepared) parse(ctx context.Context, text string) (err error) {
	p.statement, err = p.conn.PrepareContext(ctx, text)
	return err
}

func (p *prepared) run(ctx context.Context) (columns []column, err error) {
	if p.rows, err = p.statement.QueryContext(ctx); err != nil {
		return nil, err
	}
	types, err := p.rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	for _, c := range types {
		of := strings.ToLower(c.DatabaseTypeName())
		p.columns = append(p.columns, column{name: c.Name(), of: of, form: p.form(of)})
	}
	p.values, p.into = make([]any, len(types)), make([]any, len(types))
	for i := range p.values {
		p.into[i] = &p.values[i]
	}
	return p.columns, nil
}

// form is that of a type. A value of SQLite has a type of its own.
func (p *prepared) form(of string) form {
	switch {
	case p.driver == MySQL:
		return forms[MySQL][strings.TrimPrefix(of, "unsigned ")]
	case strings.Contains(of, "blob"):
		return nil
	case strings.HasPrefix(of, "bool"):
		return boolean
	}
	return plain
}

func (p *prepared) next(cells []string) (bool, error) {
	if !p.rows.Next() {
		return false, p.rows.Err()
	}
	if err := p.rows.Scan(p.into...); err != nil {
		return false, err
	}
	for i, v := range p.values {
		if _, bytes := v.([]byte); bytes && p.driver == SQLite {
			return false, noCell(p.columns[i].name + " (blob)")
		}
		cells[i] = p.columns[i].form.cell(v)
	}
	return true, nil
}

func (p *prepared) close() {
	if p.rows != nil {
		p.rows.Close()
	}
	if p.conn != nil {
		p.conn.Close()
	}
	p.db.Close()
}
