package database

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"caucus/dataset"
	"caucus/internal/testlevel"
)

// TestMain: queries leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kind is one kind of database, with its own statements and texts.
type kind struct {
	driver string
	db     *sql.DB // as an account with all rights
	// dsn is the text of the DSN file.
	dsn    string
	secret []string // parts of the address that no error may show

	// zone is that of the account's sessions. The cells of at_utc are in it; nil is for texts in
	// UTC, with a Z.
	zone *time.Location

	create, insert, read string // a table with every type
	value                func(column string, v any) any
	grant                string
	numbers              string // rows with a column n: 1 to %d
	slow                 string // a query of many seconds
	broken               map[string]string
	writes               []string
	refused              map[string]string // type by expression
}

// cell is in the table. No error may show it.
const cell = "Ada-Smith"

func (k kind) query(t testing.TB, text string) Query {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(path, []byte(k.dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Query{Driver: k.driver, DSNFile: path, SQL: text}
}

func (k kind) do(t testing.TB, all ...string) {
	t.Helper()
	for _, one := range all {
		if _, err := k.db.Exec(one); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
	}
}

// all are a query's rows.
func all(ctx context.Context, q Query) ([][]string, error) {
	r, err := Open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return rest(r)
}

func rest(r dataset.Rows) (rows [][]string, err error) {
	for {
		cells, ok, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if !ok {
			return rows, errors.New("a row is malformed")
		}
		rows = append(rows, slices.Clone(cells))
	}
}

// says checks that an error contains a text, and no secret.
func (k kind) says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
		return
	}
	for _, secret := range append(k.secret, cell) {
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
			t.Errorf("%s: %v shows %q", what, err, secret)
		}
	}
}

// suite tests the properties of every kind of database.
func (k kind) suite(t *testing.T) {
	k.do(t, "CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(40))", "INSERT INTO people VALUES (1, '"+cell+"'), (2, NULL)")
	if k.grant != "" {
		k.do(t, fmt.Sprintf(k.grant, "people"))
	}
	ctx := context.Background()
	t.Run("cells", k.sameCells)
	t.Run("few", func(t *testing.T) {
		q := k.query(t, "SELECT id, name FROM people ORDER BY id")
		r, err := Open(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"id", "name"}; !slices.Equal(r.Columns(), want) || r.Place() != 0 {
			t.Errorf("columns %q, place %d", r.Columns(), r.Place())
		}
		rows, err := rest(r)
		if want := [][]string{{"1", cell}, {"2", ""}}; err != nil ||
			!reflect.DeepEqual(rows, want) || r.Place() != 2 {
			t.Errorf("rows %q, place %d, %v", rows, r.Place(), err)
		}
		if _, _, err := r.Next(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
		r.Close()
		r.Close()
		if _, _, err := r.Next(); err != io.EOF {
			t.Errorf("after Close: %v", err)
		}
		if rows, err := all(ctx, k.query(t, "SELECT id FROM people ; -- all")); len(rows) != 2 ||
			err != nil {
			t.Errorf("with a comment behind: %q, %v", rows, err)
		}
		none, err := all(ctx, k.query(t, "SELECT id FROM people WHERE id > 9"))
		if len(none) != 0 || err != nil {
			t.Errorf("no rows: %q, %v", none, err)
		}
	})
	t.Run("refuses", func(t *testing.T) {
		for text, want := range map[string]string{
			"SELECT id FROM nosuchtable":             "nosuchtable",
			"SELECT nosuchcolumn FROM people":        "nosuchcolumn",
			"SELECT id FROM people WHEREVER id ORDE": "does not understand",
			"SELECT id, id FROM people":              `two columns have the name "id"`,
			"DELETE FROM people":                     "begins with DELETE",
		} {
			_, err := all(ctx, k.query(t, text))
			k.says(t, text, err, want)
		}
		for text, want := range k.refused {
			_, err := all(ctx, k.query(t, text))
			k.says(t, text, err, "no cell can hold the column photo ("+want+")")
		}
		for text, want := range k.broken {
			_, err := all(ctx, k.query(t, text))
			k.says(t, text, err, want)
		}
	})
	t.Run("writes", func(t *testing.T) {
		for _, text := range k.writes {
			k.says(t, text, k.unchecked(t, text), writes)
		}
		if rows, err := all(ctx, k.query(t, "SELECT count(*) AS n FROM people")); err != nil ||
			rows[0][0] != "2" {
			t.Errorf("after all that writes there are %q people, %v", rows, err)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		q := k.query(t, k.slow)
		q.Timeout = time.Second
		begin := time.Now()
		_, err := all(ctx, q)
		k.says(t, "a slow query", err, tooLong)
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		ended, cancel := context.WithCancel(ctx)
		time.AfterFunc(100*time.Millisecond, cancel)
		if _, err := all(ended, k.query(t, k.slow)); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that ended: %v", err)
		}
	})
	t.Run("limit", func(t *testing.T) {
		q := k.query(t, fmt.Sprintf(k.numbers, 10))
		q.MaxRows = 9
		rows, err := all(ctx, q)
		k.says(t, "ten rows", err, "more than 9 rows")
		if len(rows) != 9 {
			t.Errorf("%d rows came before the error", len(rows))
		}
		q.MaxRows = 10
		if rows, err := all(ctx, q); len(rows) != 10 || err != nil {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	})
	t.Run("snapshot", k.snapshot)
	t.Run("close early", func(t *testing.T) {
		r, err := Open(ctx, k.query(t, fmt.Sprintf(k.numbers, 20_000_000)))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Next(); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		r.Close()
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("to close one of many rows took %v", took)
		}
		_, _, err = r.Next()
		k.says(t, "Next after Close", err, "closed")
	})
	t.Run("memory", func(t *testing.T) {
		n := testlevel.N(t, 20_000, 1_000_000)
		heap := func() int64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		runtime.GC()
		before, most := heap(), int64(0)
		r, err := Open(ctx, k.query(t, fmt.Sprintf(k.numbers, n)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for i := 1; i <= n; i++ {
			cells, _, err := r.Next()
			if err != nil || cells[0] != strconv.Itoa(i) {
				t.Fatalf("row %d: %q, %v", i, cells, err)
			}
			if i%5000 == 0 {
				most = max(most, heap()-before)
			}
		}
		if t.Logf("the heap grew by %d MB", most>>20); most > 100<<20 {
			t.Errorf("the heap grew by %d MB", most>>20)
		}
	})
}

// unchecked runs a statement that only the database checks.
func (k kind) unchecked(t *testing.T, text string) (err error) {
	t.Helper()
	q := k.query(t, "SELECT 1")
	address, err := read("dsn_file", q.DSNFile, 0o077)
	if err != nil {
		t.Fatal(err)
	}
	r := &Rows{query: q}
	r.ctx, r.cancel = context.WithTimeout(context.Background(), time.Minute)
	defer r.Close()
	if r.db, err = r.open(address); err != nil {
		t.Fatal(err)
	}
	if err := r.run(text); err != nil {
		return err
	}
	_, err = rest(r)
	return err
}

// snapshot: rows that another program writes during the reading are not read.
func (k kind) snapshot(t *testing.T) {
	k.do(t, "CREATE TABLE growing (id INTEGER PRIMARY KEY, filler VARCHAR(200))")
	if k.grant != "" {
		k.do(t, fmt.Sprintf(k.grant, "growing"))
	}
	const n = 20_000
	insert := func(first, last int) {
		var values []string
		for i := first; i <= last; i++ {
			values = append(values, fmt.Sprintf("(%d, '%s')", i, strings.Repeat("x", 200)))
		}
		k.do(t, "INSERT INTO growing VALUES "+strings.Join(values, ", "))
	}
	insert(1, n)
	r, err := Open(context.Background(), k.query(t, "SELECT id FROM growing ORDER BY id"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	insert(n+1, n+100)
	k.do(t, fmt.Sprintf("DELETE FROM growing WHERE id = %d", n))
	if rows, err := rest(r); err != nil || len(rows) != n-1 || rows[n-2][0] != strconv.Itoa(n) {
		t.Errorf("%d rows after the first, %v, want %d", len(rows), err, n-1)
	}
	if rows, err := all(context.Background(),
		k.query(t, "SELECT count(*) AS n FROM growing")); err != nil ||
		rows[0][0] != strconv.Itoa(n+99) {
		t.Errorf("a second query: %q, %v", rows, err)
	}
}

// columnsOf are those of the table of every type.
var columnsOf = []string{"id", "big", "little", "flag", "single", "many", "price", "born", "seen",
	"at_utc", "clock", "name", "code"}

// made returns a record with a value of every type, each sometimes nil, and the cells of the same
// record in a CSV file.
func made(id int, r *rand.Rand, zone *time.Location) (values map[string]any, cells []string) {
	micro := func(fine bool) int64 {
		s := r.Int64N(2_100_000_000) // until 2036, because MySQL's timestamps end in 2038
		switch {
		case r.IntN(4) == 0:
			return s / 86400 * 86400 * 1e6
		case fine && r.IntN(2) == 0:
			return s*1e6 + r.Int64N(1e6)
		}
		return s * 1e6
	}
	born := time.Date(1900+r.IntN(200), 1, 1+r.IntN(365), 0, 0, 0, 0, time.UTC)
	at := func(layout string, m int64) string { // as a person would write it
		t := time.UnixMicro(m).UTC()
		if t.Truncate(24 * time.Hour).Equal(t) {
			return t.Format(time.DateOnly)
		}
		return t.Format(layout)
	}
	const full = "2006-01-02 15:04:05.999999"
	seen, utc, clock := micro(true), micro(true), r.Int64N(86400e6)
	big, little, flag := int64(r.Uint64()), r.IntN(65536)-32768, r.IntN(2) == 0
	single := []float32{0, 0.1, -2.5, 16777216, 3.4e38, 1e-30, r.Float32(),
		float32(r.NormFloat64() * 1e6)}[r.IntN(8)]
	many := []float64{0, 0.1, -1e300, 5e-324, 1e21, 123456789.125, r.Float64(),
		math.Exp(r.NormFloat64() * 50)}[r.IntN(8)]
	price := fmt.Sprintf("%d.%03d", r.Int64N(1e9)-5e8, r.IntN(1000))
	name := []string{cell, "Zoë, \"the\" Größe", "  spaces  ", "it's", "病人", `back\slash`, "NULL", "line\nbreak", "🏥"}[r.IntN(9)]
	code := fmt.Sprintf("C%02d", r.IntN(100))
	inZone := time.UnixMicro(utc).UTC().Format(full + "Z")
	if zone != nil {
		_, offset := time.UnixMicro(utc).In(zone).Zone()
		inZone = at(full, utc+int64(offset)*1e6)
	}
	rows := []struct {
		v    any
		text string
	}{
		{id, strconv.Itoa(id)}, {big, strconv.FormatInt(big, 10)}, {little, strconv.Itoa(little)}, {flag, strconv.FormatBool(flag)},
		{single, dataset.NumberText(float64(single), 32)}, {many, dataset.NumberText(many, 64)}, {price, price},
		{born.Format(time.DateOnly), born.Format(time.DateOnly)},
		{time.UnixMicro(seen).UTC(), at(full, seen)}, {time.UnixMicro(utc).UTC(), inZone},
		{time.UnixMicro(clock).UTC().Format("15:04:05.000000"), time.UnixMicro(clock).UTC().Format("15:04:05.999999")},
		{name, name}, {code, code},
	}
	values = map[string]any{}
	for i, c := range rows {
		if i > 0 && r.IntN(10) == 0 {
			c.v, c.text = nil, ""
		}
		values[columnsOf[i]] = c.v
		cells = append(cells, c.text)
	}
	return values, cells
}

// sameCells: a thousand rows with every type equal a CSV file of the same records.
func (k kind) sameCells(t *testing.T) {
	k.do(t, k.create)
	if k.grant != "" {
		k.do(t, fmt.Sprintf(k.grant, "every"))
	}
	r := rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	text := csv.NewWriter(&file)
	text.Write(columnsOf)
	tx, err := k.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for id := range 1000 {
		values, cells := made(id, r, k.zone)
		text.Write(cells)
		var row []any
		for _, c := range columnsOf {
			if v := values[c]; v != nil {
				row = append(row, k.value(c, v))
			} else {
				row = append(row, nil)
			}
		}
		if _, err := tx.Exec(k.insert, row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	text.Flush()
	fromFile, err := dataset.NewCSV(&file, dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	fromDatabase, err := Open(context.Background(), k.query(t, k.read))
	if err != nil {
		t.Fatal(err)
	}
	defer fromDatabase.Close()
	if !slices.Equal(fromDatabase.Columns(), fromFile.Columns()) {
		t.Fatalf("columns %q, want %q", fromDatabase.Columns(), fromFile.Columns())
	}
	want, err := rest(fromFile)
	if err != nil {
		t.Fatal(err)
	}
	got, err := rest(fromDatabase)
	if err != nil || len(got) != len(want) || len(got) != 1000 {
		t.Fatalf("%d rows, want %d: %v", len(got), len(want), err)
	}
	bad := 0
	for i := range want {
		for j := range want[i] {
			if got[i][j] != want[i][j] {
				if bad++; bad < 20 {
					t.Errorf("row %d: %s is %q, want %q", i, columnsOf[j], got[i][j], want[i][j])
				}
			}
		}
	}
}
