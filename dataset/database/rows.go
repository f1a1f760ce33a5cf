package database

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"caucus/dataset"
	"caucus/dataset/dates"
)

// Rows reads the rows of a query. It is a dataset.Rows.
type Rows struct {
	query  Query
	digest string
	ctx    context.Context
	cancel context.CancelFunc
	db     *sql.DB
	tx     *sql.Tx   // nil until the database answers
	parsed *sql.Stmt // nil until the database has parsed the statement
	rows   *sql.Rows
	names  []string
	forms  []form
	zone   string     // of the session
	in     dates.Zone // the same, for PostgreSQL's driver, which leaves it out; nil if unknown
	values []any      // pointers for Scan
	cells  []string
	place  int
	err    error
}

// Open runs a query in a read-only snapshot, until ctx ends. Close the rows after use.
func Open(ctx context.Context, q Query) (*Rows, error) {
	r := &Rows{query: q}
	r.ctx, r.cancel = context.WithTimeout(ctx, cmp.Or(q.Timeout, usualTimeout))
	text, err := q.Text()
	var address string
	if err == nil {
		address, err = read("dsn_file", q.DSNFile, 0o077)
	}
	if err == nil {
		r.digest = digest(q.Driver, text)
		r.db, err = r.open(address)
	}
	if err == nil {
		err = r.run(text)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("query a database: %w", err)
	}
	return r, nil
}

// run starts the prepared statement (MySQL sends all digits only then) in a read-only transaction.
func (r *Rows) run(text string) (err error) {
	r.tx, err = r.db.BeginTx(r.ctx,
		&sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err == nil {
		end, _ := r.ctx.Deadline()
		limit := fmt.Sprint(time.Until(end).Milliseconds())
		_, err = r.tx.ExecContext(r.ctx,
			strings.ReplaceAll(settings[r.query.Driver], "LIMIT", limit))
	}
	if err == nil {
		err = r.setZone()
	}
	types := map[string]string{}
	if err == nil && r.query.Driver == Postgres {
		var names []byte
		if err = r.tx.QueryRowContext(r.ctx, typeNames).Scan(&names); err == nil {
			err = json.Unmarshal(names, &types)
		}
	}
	if err == nil {
		r.parsed, err = r.tx.PrepareContext(r.ctx, text)
	}
	if err == nil {
		r.rows, err = r.parsed.QueryContext(r.ctx)
	}
	var columns []*sql.ColumnType
	if err == nil {
		columns, err = r.rows.ColumnTypes()
	}
	if err != nil {
		return r.explained(err)
	}
	var wrong []string
	for i, c := range columns {
		of := strings.TrimPrefix(strings.ToLower(c.DatabaseTypeName()), "unsigned ")
		of = cmp.Or(types[of], of)
		as, known := forms[r.query.Driver][of]
		if !known && r.query.Driver == SQLite {
			as = plain
		}
		switch name := strings.TrimSpace(c.Name()); {
		case name == "":
			return fmt.Errorf("sql: column %d has no name: give it one by AS", i+1)
		case slices.Contains(r.names, name):
			return fmt.Errorf("sql: two columns have the name %q: give one another by AS", name)
		case as == moment && r.in == nil:
			return fmt.Errorf("the time zone of the account, %q, has no usual name: write "+
				"zone: in the mapping, such as Europe/Berlin", r.zone)
		case as == refused:
			wrong = append(wrong, fmt.Sprintf("%s (%s)", name, of))
		default:
			r.names, r.forms = append(r.names, name), append(r.forms, as)
			r.values, r.cells = append(r.values, new(any)), append(r.cells, "")
		}
	}
	if wrong != nil {
		return fmt.Errorf(noCell, strings.Join(wrong, ", "))
	}
	return nil
}

// setZone gives the session its time zone, and learns which one it has.
func (r *Rows) setZone() (err error) {
	if set := setZone[r.query.Driver]; r.query.Zone != "" && set != "" {
		_, err = r.tx.ExecContext(r.ctx, fmt.Sprintf(set, r.query.Zone))
	}
	if show := showZone[r.query.Driver]; err == nil && show != "" {
		err = r.tx.QueryRowContext(r.ctx, show).Scan(&r.zone)
	}
	r.in, _ = dates.ZoneNamed(r.zone) // nil: unknown here
	return err
}

// Zone returns the time zone of the query's session; "" for SQLite, which has none.
func (r *Rows) Zone() string { return r.zone }

// Columns returns the result's column names, in the order of the cells of Next.
func (r *Rows) Columns() []string { return r.names }

// Place returns the last row's number, from 1.
func (r *Rows) Place() int { return r.place }

// Remarks returns nothing: a query has no odd rows.
func (r *Rows) Remarks() []dataset.Remark { return nil }

// IsNumber reports whether a cell of the last row is a number with a point, and not a text.
func (r *Rows) IsNumber(column int) bool {
	switch (*r.values[column].(*any)).(type) {
	case float32, float64:
		return true
	}
	return r.forms[column] == finite
}

// Digest returns the SHA-256, in hexadecimal, of driver and statement, so that a declaration holds
// for this query alone. It does not depend on the rows.
func (r *Rows) Digest() string { return r.digest }

// Next returns the next row. An error of the query ends the rows: later calls return it again.
func (r *Rows) Next() (cells []string, ok bool, err error) {
	if r.err == nil {
		if r.err = r.next(); r.err != nil && r.err != io.EOF {
			r.err = fmt.Errorf("query a database: %w", r.err)
		}
	}
	return r.cells, r.err == nil, r.err
}

func (r *Rows) next() error {
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return r.explained(err)
		}
		return io.EOF
	}
	if r.place == cmp.Or(r.query.MaxRows, usualRows) {
		return fmt.Errorf("it gives more than %d rows: ask for fewer, or raise rows", r.place)
	}
	if err := r.rows.Scan(r.values...); err != nil {
		return r.explained(err)
	}
	for i, p := range r.values {
		value := *p.(*any)
		if _, blob := value.([]byte); blob && r.query.Driver == SQLite {
			return fmt.Errorf(noCell, r.names[i]+" (blob)")
		}
		if at, is := value.(time.Time); is && r.forms[i] == moment {
			value = at.UTC().Add(time.Duration(r.in(at.Unix())) * time.Second)
		}
		r.cells[i] = r.forms[i].cell(value)
	}
	r.place++
	return nil
}

// Close ends the query and its connection. Repeated calls do nothing.
func (r *Rows) Close() {
	r.cancel()
	if r.db != nil {
		r.db.Close()
	}
	if r.err == nil {
		r.err = errors.New("query a database: the rows are closed")
	}
}

type form int

const (
	refused form = iota
	plain
	boolean // a truth value of SQLite, 0 or 1
	single  // 32 bits, which the driver returns as 64
	finite  // a decimal that may be NaN or Infinity
	clock   // a time of day, which may end in zeros
	local   // a date, or a day and time in the session's zone or in none
	moment  // a moment, which is written in the session's zone
)

// forms says how each type is written as text. Others are refused, but SQLite's columns are all
// plain.
var forms = map[string]map[string]form{
	Postgres: {
		"bool": plain, "int2": plain, "int4": plain, "int8": plain, "oid": plain, "float4": single, "float8": plain,
		"numeric": finite, "date": local, "timestamp": local, "timestamptz": moment, "time": plain,
		"uuid": plain, "text": plain, "varchar": plain, "bpchar": plain, "name": plain,
	},
	MySQL: {
		"tinyint": plain, "smallint": plain, "mediumint": plain, "int": plain, "bigint": plain, "year": plain,
		"float": plain, "double": plain, "decimal": finite, "date": local, "datetime": local,
		"timestamp": local,
		"time":      clock, "enum": plain, "set": plain, "null": plain, "char": plain,
		"varchar": plain, "text": plain,
		"tinytext": plain, "mediumtext": plain, "longtext": plain,
	},
	SQLite: {"bool": boolean, "boolean": boolean, "blob": refused},
}

func (f form) cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case int64:
		if f == boolean && (v == 0 || v == 1) {
			value = v == 1
		}
	case float32:
		return dataset.NumberText(float64(v), 32)
	case float64:
		if f == single {
			return dataset.NumberText(v, 32)
		}
		return dataset.NumberText(v, 64)
	case time.Time:
		zone := ""
		_, offset := v.Zone()
		if offset != 0 { // of SQLite, as it is written there
			zone = v.Format("-07:00")
		}
		return dataset.MomentText(v.UnixMicro()+int64(offset)*1e6, 1e6, zone)
	case []byte:
		value = string(v)
	}
	written := strings.TrimSpace(fmt.Sprint(value))
	switch {
	case f == finite && strings.ContainsAny(written, "ay"):
		return ""
	case f == clock && strings.Contains(written, "."):
		return strings.TrimRight(strings.TrimRight(written, "0"), ".")
	case f == local || f == moment:
		if len(written) == len(time.DateOnly) {
			written += " 00:00:00"
		}
		t, err := time.Parse(time.DateTime, written)
		if err != nil { // for example infinity, or a day 0
			return ""
		}
		return f.cell(t)
	}
	return written
}
