package source

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
)

// visits makes lines of the ward's file, with every kind of cell.
func visits(n int, seed uint64) []string {
	rng, out := rand.New(rand.NewPCG(seed, 0)), make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s,%s,%s",
			[]string{"", "x", fmt.Sprint(rng.IntN(120))}[min(rng.IntN(8), 2)], []string{"f", "m",
				"d", ""}[rng.IntN(4)], []string{"yes", "no", "?"}[rng.IntN(3)])
	}
	return out
}

// all allows a whole file to be odd.
var all = func() Expected {
	most := Fraction(1)
	return Expected{Unreadable: &most, Unlabelled: &most, Clamped: &most}
}()

const visitsHeader = "age,sex,ill\n"

func plan(d Declaration) study.Plan {
	return study.Plan{Kind: "classify", Mechanism: "cross", Unit: privacy.Record, Delta: 1e-6,
		Schema: d.Schema}
}

// TestImportsAreEqual: the same records in any order make the same table, byte for byte, sorted in
// memory or on disk; another key gives another order.
func TestImportsAreEqual(t *testing.T) {
	lines := visits(9000, 1)
	table := func(lines []string, memory int, key string) (string, Declaration, ward) {
		w := newWard(t)
		w.Key = []byte(key)
		old := inMemory
		inMemory = memory
		defer func() { inMemory = old }()
		w.say(func(s *Source) { s.Expected = all })
		w.put(visitsHeader + strings.Join(lines, "\n") + "\n")
		d := w.declared()
		b, err := os.ReadFile(w.importFile(d))
		if err != nil {
			t.Fatal(err)
		}
		return string(b), d, w
	}
	want, d, w := table(lines, 64<<20, "key")
	if d.RecordsRead != 9000 || d.Records != 9000 {
		t.Errorf("%d of %d records are declared", d.Records, d.RecordsRead)
	}
	// table, Seen file, lock
	if names, err := os.ReadDir(w.Imports); err != nil || len(names) != 3 {
		t.Errorf("the folder of imports holds %v, %v", names, err)
	}
	for i := range lines {
		j := rand.IntN(i + 1)
		lines[i], lines[j] = lines[j], lines[i]
	}
	if got, _, _ := table(lines, 64<<20, "key"); got != want {
		t.Error("another order of lines makes another table")
	}
	if got, _, _ := table(lines, 10_000, "key"); got != want {
		t.Error("a table that is sorted on the disk is another one")
	}
	if got, _, _ := table(lines, 64<<20, "other"); got == want || len(got) != len(want) {
		t.Error("another site's key makes the same order, or another size")
	}
}

// TestBlocks: the blocks together are all records, also under a condition; a smaller number gives
// the first records, a larger one fills up with empty records.
func TestBlocks(t *testing.T) {
	w := newWard(t)
	w.say(func(s *Source) { s.Expected = all })
	w.put(visitsHeader + strings.Join(visits(9000, 2), "\n") + "\n")
	d := w.declared()
	for _, where := range []string{"", "age < 50 and sex == f"} {
		p := plan(d)
		p.Where = where
		h, err := w.Open(d, p)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := h.All()
		if err != nil || whole.Len() != 9000 ||
			(where != "") != slices.Contains(whole.FailsCondition, true) {
			t.Fatalf("%q: %d records, %v", where, whole.Len(), err)
		}
		for _, n := range []int{9000, 8999, 4096, 1, 0, 9500} {
			at, empty := 0, Empty(p, 1, []byte("key"), false).Records
			if h, err = w.Open(d, p); err != nil {
				t.Fatal(err)
			}
			for r := range h.Blocks(n) {
				for i := range r.Len() {
					want, y, out := empty.X.RowView(0), empty.Y[0], empty.IsExcluded(0)
					if at < whole.Len() {
						want, y, out = whole.X.RowView(at), whole.Y[at], whole.IsExcluded(at)
					}
					if !mat.Equal(r.X.RowView(i), want) || r.Y[i] != y || r.IsExcluded(i) != out {
						t.Fatalf("%q: record %d of %d is another one", where, at, n)
					}
					at++
				}
			}
			if at != n {
				t.Errorf("%q: %d records of %d", where, at, n)
			}
		}
	}
}

// TestCutOfBlocks: the first n records of two files that differ in one record differ in at most one
// record; if only its label differs, in that label.
func TestCutOfBlocks(t *testing.T) {
	cut := func(lines []string, n int) (full, features map[string]int) {
		w := newWard(t)
		w.say(func(s *Source) { s.Expected = all })
		w.put(visitsHeader + strings.Join(lines, "\n") + "\n")
		d := w.declared()
		h, err := w.Open(d, plan(d))
		if err != nil {
			t.Fatal(err)
		}
		full, features = map[string]int{}, map[string]int{}
		for r := range h.Blocks(n) {
			for i := range r.Len() {
				x := fmt.Sprint(r.X.RawRowView(i))
				features[x]++
				full[fmt.Sprint(x, r.Y[i])]++
			}
		}
		return full, features
	}
	moved := func(a, b map[string]int) (n int) {
		for k, v := range a {
			n += max(0, v-b[k])
		}
		return n
	}
	rng := rand.New(rand.NewPCG(3, 0))
	for round := range testlevel.N(t, 20, 200) {
		lines := visits(30, uint64(round))
		n := rng.IntN(31)
		full, features := cut(lines, n)
		other := slices.Clone(lines)
		at := rng.IntN(len(lines))
		other[at] = visits(1, uint64(1000+round))[0]
		if got, _ := cut(other, n); moved(full, got) > 1 || moved(got, full) > 1 {
			t.Fatalf("%d records of %q and of %q: %d differ", n, lines, other, moved(full, got))
		}
		other = slices.Clone(lines)
		other[at] = other[at][:strings.LastIndex(other[at], ",")] + ",yes"
		got, gotFeatures := cut(other, n)
		if moved(full, got) > 1 || !reflect.DeepEqual(features, gotFeatures) {
			t.Fatalf("%d records of %q and of %q: a label moved features", n, lines, other)
		}
	}
}

// TestLineBreaks: line breaks in quoted cells of an unused column lose no record in an import; a
// file that is written anew is read line by line and loses them.
func TestLineBreaks(t *testing.T) {
	var with, without strings.Builder
	with.WriteString("age,sex,letter,ill\n")
	without.WriteString(visitsHeader)
	for i := range 1095 {
		letter := "short"
		if i%7 == 0 {
			letter = "\"Dear colleague,\nwe saw; the \"\"patient\"\",\n\nyours\""
		}
		fmt.Fprintf(&with, "%d,f,%s,no\n", 20+i%70, letter)
		fmt.Fprintf(&without, "%d,f,no\n", 20+i%70)
	}
	w := newWard(t)
	w.put(without.String())
	want := w.declared()
	if want.RecordsRead != 1095 || want.Records != 1090 {
		t.Errorf("%d of %d records", want.Records, want.RecordsRead)
	}
	w.put(with.String())
	if d := w.declared(); d.ImportDigest != want.ImportDigest {
		t.Errorf("%d of %d records, another import than without the column", d.Records, d.RecordsRead)
	}
	w.say(func(s *Source) { s.Redeclare, s.Expected = RedeclareDaily, all })
	if d := w.declared(); d.RecordsRead <= 1095 || d.ImportDigest != "" {
		t.Errorf("line by line: %d records, import %q", d.RecordsRead, d.ImportDigest)
	}
}

// TestImportFaults: an interrupted import leaves the previous declaration, and nothing else.
func TestImportFaults(t *testing.T) {
	w := newWard(t)
	w.put(visitsHeader + strings.Repeat("30,f,no\n", 1000))
	before := w.declared()
	files := func() (out []string) {
		entries, err := os.ReadDir(w.Imports)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range entries {
			out = append(out, file.Name())
		}
		return out
	}
	want := files()
	stands := func(what string, err error, says string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", what, err, says)
		}
		d, err := w.declaration("ward")
		if err != nil || !reflect.DeepEqual(d, before) || !slices.Equal(files(), want) {
			t.Errorf("%s: %+v, %v; files %q, want %q", what, d, err, files(), want)
		}
		if in, _, unread := w.Records(plan(d), d.Records, false); unread != nil ||
			in.Records.Len() != 1000 {
			t.Errorf("%s: a study gets %d records, %v", what, in.Records.Len(), unread)
		}
	}
	declare := func(ctx context.Context, ask func(Report) error) error {
		_, err := w.Declare(ctx, "ward", DeclareOptions{Ask: ask}, func(*Declaration) error {
			return nil
		})
		return err
	}
	yes := func(Report) error { return nil }

	w.put(visitsHeader + strings.Repeat("31,m,yes\n", 200_000))
	gone, stop := context.WithCancelCause(t.Context())
	stop(errors.New("interrupted"))
	stands("an interrupt", declare(gone, yes), "interrupted")
	stands("a no", declare(t.Context(), func(Report) error { return errors.New("no") }), "no")
	old := inMemory
	inMemory = 1000
	stands("an interrupt while it sorts on the disk", declare(gone, yes), "interrupted")
	inMemory = old
	w.put("age,sex\n30,f\n")
	stands("a column that vanished", declare(t.Context(), yes), `no column "ill"`)
	if err := os.Remove(w.ByName["ward"].File); err != nil {
		t.Fatal(err)
	}
	stands("a file that is gone", declare(t.Context(), yes), "no such file")

	// The next import removes leftovers of a crash, and a declaration its earlier import.
	if err := os.Mkdir(filepath.Join(w.Imports, unfinished+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.put(visitsHeader + strings.Repeat("31,m,yes\n", 300))
	if d := w.declared(); d.ImportDigest == before.ImportDigest || len(files()) != len(want) {
		t.Errorf("another import: %q", files())
	}
	for _, file := range files() {
		if info, err := os.Stat(filepath.Join(w.Imports, file)); err != nil ||
			info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	if err := w.Forget("ward"); err != nil || !slices.Equal(files(), []string{"lock"}) {
		t.Errorf("forgotten: %v, %q", err, files())
	}
	if _, err := w.declaration("ward"); !errors.Is(err, ErrUndeclared) {
		t.Errorf("a source that was forgotten: %v", err)
	}
	if w.Declared("ward") {
		t.Error("something of it is still kept")
	}
}

// TestDamagedImport: a changed or truncated table gives empty records and says why; nothing panics.
func TestDamagedImport(t *testing.T) {
	w := newWard(t)
	w.put(visitsHeader + strings.Repeat("30,f,no\n", 5000))
	d := w.declared()
	whole, err := os.ReadFile(w.importFile(d))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 0))
	for range 60 {
		b := slices.Clone(whole)
		switch rng.IntN(3) {
		case 0:
			b = b[:rng.IntN(len(b))]
		case 1:
			b = append(b, 0)
		default:
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
		if err := os.WriteFile(w.importFile(d), b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, blocks := range []bool{true, false} {
			in, _, unread := w.Records(plan(d), d.Records, blocks)
			if unread == nil || strings.Contains(unread.Error(), "30") {
				t.Fatalf("a damaged table: %v", unread)
			}
			n := 0
			if blocks {
				for r := range in.Blocks {
					n += r.Len()
				}
			} else {
				n = in.Records.Len()
			}
			if n != d.Records {
				t.Fatalf("%d records", n)
			}
		}
	}
}

// TestCodesAreBounded: codes outside the schema's range do not cause a panic; the checksum cannot
// detect them.
func TestCodesAreBounded(t *testing.T) {
	s, err := dataset.ParseSchema(strings.NewReader(wardSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Coding()
	b := dataset.CodedBlock{Rows: 1}
	for _, width := range c.Columns() {
		b.Columns = append(b.Columns, slices.Repeat([]byte{0xff}, width))
	}
	where, err := dataset.ParseCondition("sex != f and ill != yes")
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Records(s, &where, b); r.IsExcluded(0) || r.Y[0] != -1 || r.X.At(0, 0) != 0.5 {
		t.Errorf("%v, %v", r.X, r.Y)
	}
}

// TestDailyIsCutByContent: of a file that is written anew, n records are chosen by content, in any
// order of the file, also for a study that reads blocks.
func TestDailyIsCutByContent(t *testing.T) {
	w := newWard(t)
	w.say(func(s *Source) { s.Redeclare, s.Expected = RedeclareDaily, all })
	lines := visits(100, 5)
	chosen := func() (out []string) {
		w.put(visitsHeader + strings.Join(lines, "\n") + "\n")
		d := w.declared()
		in, _, unread := w.Records(plan(d), 50, true)
		if unread != nil || in.Blocks != nil {
			t.Fatalf("%v, blocks of a file in its own order: %v", unread, in.Blocks != nil)
		}
		for i := range in.Records.Len() {
			out = append(out, fmt.Sprint(in.Records.X.RawRowView(i), in.Records.Y[i]))
		}
		slices.Sort(out)
		return out
	}
	want := chosen()
	slices.Reverse(lines)
	if got := chosen(); len(got) != 50 || !slices.Equal(got, want) {
		t.Error("another order of lines chooses other records")
	}
}

// TestImportAnewMeanwhile: a new import does not change the records that a study is reading.
func TestImportAnewMeanwhile(t *testing.T) {
	w := newWard(t)
	w.put(visitsHeader + strings.Repeat("30,f,yes\n", 9000))
	d := w.declared()
	in, _, unread := w.Records(plan(d), d.Records, true)
	if unread != nil {
		t.Fatal(unread)
	}
	w.put(visitsHeader + strings.Repeat("80,m,no\n", 500))
	w.declared()
	n := 0
	for r := range in.Blocks {
		for i, y := range r.Y {
			if n++; y != 1 || r.X.At(i, 0) != 0.3 {
				t.Fatalf("record %d is %v, %d", n, r.X.RawRowView(i), y)
			}
		}
	}
	if n != 9000 {
		t.Errorf("%d records", n)
	}
}

// TestManyEmptyRecords: records without a cell are counted, sorted with the others, and take no
// memory.
func TestManyEmptyRecords(t *testing.T) {
	old := inMemory
	defer func() { inMemory = old }()
	digests := map[string]bool{}
	for _, memory := range []int{1000, 64 << 20} {
		inMemory = memory
		w := newWard(t)
		w.say(func(s *Source) { s.Expected = all })
		w.put(visitsHeader + strings.Repeat("x\n30,f,no\ny\n", 1500))
		d := w.declared()
		records, err := w.AllRecords(study.Plan{SourceName: "ward", Schema: d.Schema})
		if err != nil || d.RecordsRead != 4500 || records.Len() != 4500 {
			t.Fatalf("%d of %d records, %v", records.Len(), d.RecordsRead, err)
		}
		labelled := 0
		for _, y := range records.Y {
			if y == 0 {
				labelled++
			}
		}
		if digests[d.ImportDigest] = true; labelled != 1500 || len(digests) != 1 {
			t.Errorf("%d records have a label; tables %v", labelled, digests)
		}
	}
}

// TestNamesOfSources: whatever a source is called, its import outlives the next import, another
// source's removal, and the end of a killed import.
func TestNamesOfSources(t *testing.T) {
	w := newWard(t)
	w.put(visitsHeader + strings.Repeat("30,f,no\n", 500))
	names := []string{"ward", "unfinished-ward", "unfinished-", "lock", ".", "a,b", "a%2Cb",
		"ward,"}
	for _, name := range names {
		w.ByName[name] = w.ByName["ward"]
	}
	for _, name := range names {
		accept := func(d *Declaration) error { d.By = "tester"; return nil }
		if _, err := w.Declare(t.Context(), name, DeclareOptions{}, accept); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if err := w.Forget("ward"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if r := w.Report(name); (r.Declared == nil) != (name == "ward") {
			t.Errorf("source %q waits: %q", name, r.WaitReason)
		}
	}
}

// TestForgetCleansUp: forgetting removes the leftovers of a kill between any two files, also for
// names with odd characters.
func TestForgetCleansUp(t *testing.T) {
	w := newWard(t)
	w.Imports = filepath.Join(w.Dir, "site [a]*?")
	w.put(visitsHeader + strings.Repeat("30,f,no\n", 500))
	w.declared()
	if err := os.Mkdir(filepath.Join(w.Imports, unfinished+"2"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.declarationFile("ward")); err != nil { // killed after this
		t.Fatal(err)
	}
	if err := w.Forget("ward"); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(w.Imports); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
	// A declaration that cannot be written leaves no import.
	if err := os.Mkdir(w.declarationFile("ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.declare(); err == nil {
		t.Error("declared in a folder")
	}
	if left, err := os.ReadDir(w.Imports); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestLostNotes: studies do not need the notes about an import, which may be lost.
func TestLostNotes(t *testing.T) {
	w := newWard(t)
	w.put(visitsHeader + strings.Repeat("30,f,no\n", 500))
	d := w.declared()
	if err := os.Remove(w.seenFile(d)); err != nil {
		t.Fatal(err)
	}
	if in, _, unread := w.Records(plan(d), d.Records, false); unread != nil ||
		in.Records.Y[0] != 0 {
		t.Errorf("a study gets empty records: %v", unread)
	}
	if err := os.RemoveAll(w.Imports); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Of(study.Plan{SourceName: "ward"}); !errors.Is(err, ErrUndeclared) ||
		!strings.Contains(err.Error(), "its import is gone") {
		t.Errorf("a source without its import: %v", err)
	}
}
