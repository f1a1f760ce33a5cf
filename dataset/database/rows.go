package database

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"caucus/internal/yamlfile"
)

// Rows are the rows of a query, as dataset.Rows.
type Rows struct {
	query  Query
	most   int
	digest [sha256.Size]byte
	ctx    context.Context
	cancel context.CancelFunc
	source source
	names  []string
	cells  []string
	place  int
	err    error
}

// source is a connection with one statement. Its errors may quote a record, but for those of parse.
type source interface {
	// parse has the database understand the statement. It reads no record.
	parse(ctx context.Context, text string) error
	// run starts the statement.
	run(ctx context.Context) ([]column, error)
	// next writes the next row's cells; false after the last.
	next(cells []string) (bool, error)
	// close gives the connection up, after the end of the context of all these.
	close()
}

// column is one of a result. Without a form its type is none that a cell can hold.
type column struct {
	name, of string
	form     form
}

// Open runs a query in a snapshot that can only be read. The context ends it, too. The rows must be
// closed.
func Open(ctx context.Context, q Query) (*Rows, error) {
	r := &Rows{query: q, most: cmp.Or(q.Rows, usualRows)}
	r.ctx, r.cancel = context.WithTimeout(ctx, cmp.Or(q.Timeout, usualTimeout))
	if err := r.open(); err != nil {
		r.Close()
		return nil, fmt.Errorf("query a database: %w", err)
	}
	return r, nil
}

func (r *Rows) open() error {
	if err := r.query.Validate(); err != nil {
		return err
	}
	text, err := r.query.Text()
	if err != nil {
		return err
	}
	r.digest = sha256.Sum256([]byte(r.query.Driver + "\n" + text))
	address, err := r.query.address()
	if err != nil {
		return err
	}
	if r.source, err = r.connect(address); err != nil {
		return r.explained(err, false)
	}
	if err := r.source.parse(r.ctx, text); err != nil {
		return r.explained(err, true)
	}
	columns, err := r.source.run(r.ctx)
	if err != nil {
		return r.explained(err, false)
	}
	return r.name(columns)
}

func (r *Rows) connect(address string) (source, error) {
	end, _ := r.ctx.Deadline()
	switch limit := time.Until(end); r.query.Driver {
	case Postgres:
		return connectPostgres(r.ctx, address, limit)
	case MySQL:
		return connectMySQL(r.ctx, address, limit)
	}
	return connectSQLite(r.ctx, yamlfile.Below(filepath.Dir(r.query.DSNFile), address))
}

// name takes the columns, whose names must be apart and whose types must have a form.
func (r *Rows) name(columns []column) error {
	var wrong []string
	has := map[string]bool{}
	for i, c := range columns {
		name := plain(c.name)
		switch {
		case name == "":
			return fmt.Errorf("sql: column %d has no name: give it one by AS", i+1)
		case has[name]:
			return fmt.Errorf("sql: two columns have the name %q: give one another by AS", name)
		case c.form == nil:
			wrong = append(wrong, fmt.Sprintf("%s (%s)", name, c.of))
		}
		has[name] = true
		r.names = append(r.names, name)
	}
	if len(wrong) > 0 {
		return noCell(strings.Join(wrong, ", "))
	}
	r.cells = make([]string, len(columns))
	return nil
}

func noCell(columns string) error {
	return ours("sql: no cell can hold the column " + columns + ": leave it out, or cast it to text, a number or a date")
}

// Columns are the names of the query's columns.
func (r *Rows) Columns() []string { return r.names }

// Place is the last row's number, from 1.
func (r *Rows) Place() int { return r.place }

// Digest is the SHA-256 in hex of the driver and the statement. The address is no part of it.
func (r *Rows) Digest() string { return hex.EncodeToString(r.digest[:]) }

// Next is the next row. An error is about the query; after one there are no more rows.
func (r *Rows) Next() (cells []string, ok bool, err error) {
	if r.err == nil {
		switch more, err := r.source.next(r.cells); {
		case err != nil:
			r.err = fmt.Errorf("query a database: %w", r.explained(err, false))
		case !more:
			r.err = io.EOF
		case r.place == r.most:
			r.err = fmt.Errorf("query a database: it gives more than %d rows: ask for fewer, or raise rows", r.place)
		default:
			r.place++
		}
	}
	return r.cells, r.err == nil, r.err
}

// Close ends the query and its connection. It may be called again.
func (r *Rows) Close() {
	r.cancel()
	if r.source != nil {
		r.source.close()
		r.source = nil
	}
	if r.err == nil {
		r.err = errors.New("query a database: the rows are closed")
	}
}
