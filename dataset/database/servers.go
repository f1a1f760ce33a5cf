package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"caucus/internal/yamlfile"
)

// open parses the address. It connects to nothing yet.
func (r *Rows) open(address string) (*sql.DB, error) {
	switch r.query.Driver {
	case Postgres:
		config, err := pgx.ParseConfig(address)
		if err != nil {
			return nil, errors.New(noAddress)
		}
		return stdlib.OpenDB(*config), nil
	case MySQL:
		config, err := mysql.ParseDSN(address)
		if err != nil {
			return nil, errors.New(noAddress)
		}
		config.ParseTime, config.ColumnsWithAlias = false, false
		config.MultiStatements, config.AllowAllFiles = false, false
		config.Logger = &mysql.NopLogger{} // the default logger writes to stderr
		config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil { // otherwise the driver would read all rows when a query is closed
				context.AfterFunc(r.ctx, func() { conn.Close() })
			}
			return conn, err
		}
		connector, err := mysql.NewConnector(config)
		return sql.OpenDB(connector), err
	}
	// mode=ro makes a missing file an error; with _dqs=0 a name in double quotes is never read as a
	// text.
	path := filepath.ToSlash(yamlfile.ResolvePath(filepath.Dir(r.query.DSNFile), address))
	file := url.URL{Scheme: "file", Path: path, OmitHost: true,
		RawQuery: "mode=ro&_dqs=0&_timeout=20000"}
	return sql.Open("sqlite", file.String())
}

// settings make the database end the query in time (LIMIT in milliseconds) and write values
// independently of its own settings. A comment with M! is for MariaDB alone, with !50708 for MySQL
// alone.
var settings = map[string]string{
	Postgres: `SET LOCAL statement_timeout = LIMIT; SET LOCAL datestyle = 'ISO';
		SET LOCAL extra_float_digits = 3; SET LOCAL client_encoding = 'UTF8'`,
	MySQL: `SET NAMES utf8mb4, net_write_timeout = 1 + LIMIT DIV 1000
		/*M!100100 , max_statement_time = LIMIT / 1000 */ /*!50708 , max_execution_time = LIMIT */`,
	SQLite: "PRAGMA query_only = 1",
}

// setZone and showZone set and show the time zone of a session. SQLite has none.
var (
	setZone = map[string]string{Postgres: "SET LOCAL timezone = '%s'", MySQL: "SET time_zone " +
		"= '%s'"}
	showZone = map[string]string{
		Postgres: "SELECT current_setting('TimeZone')",
		MySQL:    "SELECT IF(@@time_zone = 'SYSTEM', @@system_time_zone, @@time_zone)",
	}
)

// typeNames names types for which the driver has only numbers. Enums and citext are texts.
const typeNames = `SELECT json_object_agg(oid, CASE WHEN typtype = 'e' OR typcategory = 'S' THEN 'text'
	ELSE typname END) FROM pg_catalog.pg_type WHERE typrelid = 0`

// Errors with their remedies. A driver's message may show the address, a database's may show a
// record, so none is passed on, except a database's message about the statement's text.
const (
	denied     = "the database refuses the account: check the name, the password and the database in dsn_file"
	mayNotRead = "there is nothing of that name, or the account may not read it: check the names, or GRANT SELECT"
	writes     = "the query would write, lock or change a setting: write one that only reads"
	tooLong    = "the query took longer than its timeout, or somebody stopped it: raise timeout, or ask for less"
	goneAway   = "the database went away or broke the connection: see that it runs, and start again"
	unfit      = "a value does not fit a cast, a division or the like: write the query so that it gives NULL there"
	noRoom     = "the database lacks memory, disk space or connections: make room, and start again"
	busy       = "another program changed or holds what the query reads: start again"
	ofText     = "sql: the database does not understand it"
	unsaid     = "the database stopped the query for a reason that may quote a record: see it in the database's program"
	noCell     = "sql: no cell can hold the column %s: leave it out, or cast it to text, " +
		"a number or a date (of an interval, extract(epoch from b) / 86400 is its days)"
	noZone = "the database does not know the time zone that zone names: load its time " +
		"zones (mysql_tzinfo_to_sql), or leave zone out to keep the account's own"
	unreached = "nothing answers at the address in dsn_file, or its certificate is not " +
		"trusted: check both"
	noAddress = "dsn_file: write postgres://name:password@host:5432/database, " +
		"for mysql name:password@tcp(host:3306)/database, for sqlite the path of the file"
)

// causes maps the code of an error to its message: SQLSTATE or its first two characters, MySQL's
// number, or SQLite's primary code.
var causes = map[string]string{
	"08": goneAway, "0A": ofText, "21": ofText, "22": unfit, "23": ofText, "25": writes, "28": denied, "3D": denied,
	"40": busy, "42": ofText, "42501": mayNotRead, "53": noRoom, "55": busy, "57": goneAway, "57014": tooLong,
	"70": tooLong, "HY001": noRoom, "1021": noRoom, "1040": noRoom, "1044": mayNotRead, "1049": denied, "1111": ofText,
	"1114": noRoom, "1130": denied, "1142": mayNotRead, "1143": mayNotRead, "1203": noRoom, "1205": busy,
	"1290": writes, "1298": noZone, "1370": mayNotRead, "1412": busy, "3024": tooLong,
	"sqlite 1": ofText, "sqlite 3": mayNotRead, "sqlite 5": busy, "sqlite 6": busy, "sqlite 7": noRoom,
	"sqlite 8": writes, "sqlite 9": tooLong, "sqlite 13": noRoom, "sqlite 23": mayNotRead,
	"sqlite 10": "the disk failed, or dsn_file names no file: check it",
	"sqlite 11": "the database is damaged: restore it from a backup",
	"sqlite 14": "the database that dsn_file names cannot be opened: check its path, and that this account may read it",
	"sqlite 26": "dsn_file names a file that is no SQLite database: write the path of one",
}

func (r *Rows) explained(err error) error {
	var codes []string // the error's codes, the most precise last
	its, says := "", unsaid
	if e, is := errors.AsType[*pgconn.PgError](err); is {
		its, codes = e.Message, []string{fmt.Sprintf("%.2s", e.Code), e.Code}
	} else if e, is := errors.AsType[*mysql.MySQLError](err); is {
		its, codes = e.Message, []string{string(e.SQLState[:2]), string(e.SQLState[:]),
			fmt.Sprint(e.Number)}
	} else if e, is := errors.AsType[*sqlite.Error](err); is {
		its, codes = e.Error(), []string{fmt.Sprintf("sqlite %d", e.Code()&0xff)}
	}
	for _, code := range codes {
		says = cmp.Or(causes[code], says)
	}
	switch {
	case errors.Is(r.ctx.Err(), context.DeadlineExceeded):
		says = tooLong
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case codes == nil && r.tx == nil:
		says = unreached
	case codes == nil:
		says = goneAway
	case says == ofText && r.parsed == nil: // no record has been read so far
		says += ": " + its
	case says == ofText:
		says = unsaid
	}
	if codes != nil {
		says += " (error " + codes[len(codes)-1] + ")"
	}
	if r.place > 0 {
		says = fmt.Sprintf("after %d rows: %s", r.place, says)
	}
	return errors.New(says)
}
