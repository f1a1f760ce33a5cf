package source

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
)

// wideSchema has a patient, sixteen numbers, twelve texts and a label.
func wideSchema() string {
	var b strings.Builder
	b.WriteString("label: {column: ill, classes: [\"no\", \"yes\"]}\npatient: id\nfeatures:\n")
	for i := range 16 {
		fmt.Fprintf(&b, "  - {column: n%d, kind: numeric, min: 0, max: 1000}\n", i)
	}
	for i := range 12 {
		fmt.Fprintf(&b, "  - {column: t%d, kind: categorical, levels: [a, b, c, d, e, f]}\n", i)
	}
	return b.String()
}

// wideStudies are studies that read blocks, one for each kind of sum, over a pool of made rows.
func wideStudies(t *testing.T, schema dataset.Schema, records int) (all []study.Task) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 2))
	var rows [][]string
	for range 500 {
		var row []string
		for i := range schema.FeatureColumns() {
			if i < 16 {
				row = append(row, strconv.Itoa(rng.IntN(1000)))
			} else {
				row = append(row, string(rune('a'+rng.IntN(6))))
			}
		}
		rows = append(rows, row)
	}
	pool, err := dataset.NewTable(schema.FeatureColumns(), rows)
	if err != nil {
		t.Fatal(err)
	}
	model, err := judged.Coefficients{Coefficients: map[string]float64{"n0": .002,
		"t1=b": .5}}.Model(schema)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := study.EncodeTerms(evaluate.Terms{Model: model})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []study.Proposal{
		{Kind: "classify", Mechanism: "cross"}, {Kind: "describe"}, {Kind: "evaluate", KindTerms: terms}, {Kind: "reweigh"}, {Kind: "classify", Mechanism: "means"},
	} {
		of.Name, of.SourceName, of.Unit, of.Epsilon, of.Records, of.Roster, of.Minimum = "wide",
			"ward",
			privacy.Record, 1, records, []study.PartyID{"a", "b"}, 2
		if of.Mechanism == "means" {
			of.Unit = privacy.Party
		}
		of.Deadline = time.Now().Add(time.Hour)
		made, err := planning.ProposePlan(of, schema, pool)
		if err != nil {
			t.Fatal(of.Kind, of.Mechanism, err)
		}
		task, err := kinds.NewTask(made.Plan, made.Pool)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, task)
	}
	return all
}

// TestSize imports many rows of thirty columns, reads them back in blocks, and makes the
// contributions that take blocks, from CSV and from Parquet, in little memory. CAUCUS_ROWS sets the
// number of rows: 20000000 took 307 MB of heap, 446 MB of memory in all.
func TestSize(t *testing.T) {
	rows := testlevel.N(t, 20_000, 500_000)
	if text := os.Getenv("CAUCUS_ROWS"); text != "" {
		rows, _ = strconv.Atoi(text)
	}
	dir := os.Getenv("CAUCUS_FOLDER")
	if dir == "" {
		dir = t.TempDir()
	}
	schema := filepath.Join(dir, "schema.yaml")
	if err := os.WriteFile(schema, []byte(wideSchema()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"csv", "parquet"} {
		file := filepath.Join(dir, fmt.Sprint("register", rows, ".", form))
		if _, err := os.Stat(file); err != nil {
			if err := writeWide(file, form, rows); err != nil {
				t.Fatal(err)
			}
		}
		var most uint64
		done := make(chan struct{})
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			var m runtime.MemStats
			for {
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
				select {
				case <-done:
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		}()
		s := Sources{Dir: dir, Imports: filepath.Join(dir, "imports"), Key: []byte("key"),
			ByName: map[string]Source{"ward": {File: file, Schema: schema}}, Now: time.Now}
		start := time.Now()
		r, err := s.Declare(context.Background(), "ward", DeclareOptions{},
			func(d *Declaration) error {
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		start = time.Now()
		h, err := s.Open(*r.Declared, plan(*r.Declared))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b := range h.Blocks(r.Declared.Records) {
			n += b.Len()
		}
		read := time.Since(start)
		var made []string
		for _, task := range wideStudies(t, r.Declared.Schema, r.Declared.Records) {
			p := task.Plan()
			if blocks := study.TakesBlocks(task, r.Declared.Records); !blocks {
				made = append(made, p.Kind+" by "+p.Mechanism+" takes all records at once")
				continue
			}
			start = time.Now()
			in, _, unread := s.Records(p, r.Declared.Records, true)
			if unread != nil {
				t.Fatal(unread)
			}
			if _, err := task.Contribute(in); err != nil {
				t.Fatal(err)
			}
			made = append(made, fmt.Sprintf("%s by %s %.1f s", p.Kind, p.Mechanism,
				time.Since(start).Seconds()))
		}
		close(done)
		<-watched
		t.Logf("%s: %d rows: imported in %.1f s (%.0f a second), read in %.1f s (%.0f a second); heap %d MB at most", form, rows,
			took.Seconds(), float64(rows)/took.Seconds(), read.Seconds(), float64(n)/read.Seconds(),
			most>>20)
		t.Logf("%s: contributions: %s", form, strings.Join(made, ", "))
		if n != r.Declared.Records || r.Found != rows || most > 500<<20 {
			t.Errorf("%s: %d of %d records, %d MB", form, n, r.Found, most>>20)
		}
	}
}

func writeWide(path, form string, rows int) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	schema, err := dataset.ParseSchema(strings.NewReader(wideSchema()))
	if err != nil {
		return err
	}
	names := append(append([]string{"id"}, schema.FeatureColumns()...), "ill")
	number := func() float64 { return float64(rng.IntN(100_000)) / 100 }
	level := func() string { return string(rune('a' + rng.IntN(6))) }
	if form == "csv" {
		fmt.Fprintln(out, strings.Join(names, ","))
		var line []byte
		for i := range rows {
			line = strconv.AppendInt(line[:0], int64(i/2), 10)
			for range 16 {
				line = strconv.AppendFloat(append(line, ','), number(), 'f', -1, 64)
			}
			for range 12 {
				line = append(append(line, ','), level()...)
			}
			line = append(append(line, ','), []string{"no", "yes"}[rng.IntN(2)]...)
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	group := parquet.Group{}
	for i, name := range names {
		switch {
		case i == 0:
			group[name] = parquet.Int(64)
		case i <= 16:
			group[name] = parquet.Leaf(parquet.DoubleType)
		default:
			group[name] = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		}
	}
	at := map[string]int{}
	form2 := parquet.NewSchema("register", group)
	for i, path := range form2.Columns() {
		at[path[0]] = i
	}
	w := parquet.NewWriter(out, form2, parquet.Compression(&parquet.Zstd))
	row := make(parquet.Row, len(names))
	for i := range rows {
		for j, name := range names {
			var v parquet.Value
			switch {
			case j == 0:
				v = parquet.Int64Value(int64(i / 2))
			case j <= 16:
				v = parquet.DoubleValue(number())
			case j <= 28:
				v = parquet.ByteArrayValue([]byte(level()))
			default:
				v = parquet.ByteArrayValue([]byte([]string{"no", "yes"}[rng.IntN(2)]))
			}
			row[at[name]] = v.Level(0, 0, at[name])
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
		if i%1_000_000 == 999_999 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Flush()
}
