package journal

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"caucus/privacy"
)

var ctx = context.Background()

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func openFile(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func release(ctx context.Context, j privacy.Journal, id string) (privacy.Published, error) {
	l, err := privacy.Open(j, privacy.Config{})
	if err != nil {
		return privacy.Published{}, err
	}
	s, err := privacy.NewSensitive([]int64{1, 2, 3}, privacy.Bound{Unit: privacy.Record, L1: 2})
	if err != nil {
		return privacy.Published{}, err
	}
	return l.Release(ctx, id, s, privacy.DiscreteLaplace{Scale: big.NewRat(1<<40, 1)})
}

// charges verifies the chain and returns the number of charges.
func charges(t testing.TB, j privacy.Journal) int64 {
	t.Helper()
	totals, err := privacy.Verify(ctx, j)
	if err != nil {
		t.Fatal(err)
	}
	return totals[privacy.Record].Charges
}

// TestJournals: every journal keeps the promises of privacy.Journal.
func TestJournals(t *testing.T) {
	journals(t, privacy.NewMemoryJournal())
	journals(t, openFile(t, filepath.Join(t.TempDir(), "ledger")))
}

func journals(t *testing.T, j privacy.Journal) {
	entry := func(n int64) privacy.Entry {
		return privacy.Entry{Sequence: n, ID: fmt.Sprint("e", n), Kind: "k",
			RequestDigest: [32]byte{1},
			Salt:          [32]byte{3}, Body: []byte{2,
				0}, Totals: []byte("{}"), Prev: [32]byte{byte(n)}, Hash: [32]byte{byte(n), 9}}
	}
	failure := errors.New("stop")
	for _, n := range []int64{1, 2, 5} {
		err := j.Update(ctx, func(tx privacy.Tx) error {
			must(0, tx.Append(entry(n)))
			if e, found, err := tx.Head(); err != nil || !found || !reflect.DeepEqual(e, entry(n)) {
				t.Errorf("head inside: %+v, %t, %v", e, found, err)
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Errorf("update gives %v", err)
		}
		must(0, j.Update(ctx, func(tx privacy.Tx) error {
			if _, found, err := tx.Find(fmt.Sprint("e", n)); found || err != nil {
				t.Errorf("a failed transaction left entry %d (%v)", n, err)
			}
			return tx.Append(entry(n))
		}))
	}
	must(0, j.Update(ctx, func(tx privacy.Tx) error {
		if e, found, err := tx.Find("e2"); err != nil || !found || !reflect.DeepEqual(e, entry(2)) {
			t.Errorf("find: %+v, %t, %v", e, found, err)
		}
		if got := must(tx.EntriesAfter(1, 9)); !reflect.DeepEqual(got,
			[]privacy.Entry{entry(2), entry(5)}) {
			t.Errorf("after 1: %+v", got)
		}
		if got := must(tx.EntriesAfter(0, 2)); len(got) != 2 ||
			must(tx.EntriesAfter(5, 2)) != nil &&
				len(must(tx.EntriesAfter(5, 2))) != 0 {
			t.Errorf("paging gives %d", len(got))
		}
		return nil
	}))
	again := entry(6)
	again.ID = "e2"
	for _, bad := range []privacy.Entry{entry(5), again} {
		if err := j.Update(ctx, func(tx privacy.Tx) error { return tx.Append(bad) }); err == nil {
			t.Errorf("entry %d as %s was appended", bad.Sequence, bad.ID)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := j.Update(gone, func(privacy.Tx) error {
		return nil
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSameAnswerAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a ledger?#%41.db") // a name that a URL would misread
	j := openFile(t, path)
	first := must(release(ctx, j, "a"))
	j.Close()
	if again := must(release(ctx, openFile(t, path), "a")); !reflect.DeepEqual(first, again) {
		t.Errorf("first %+v, then %+v", first, again)
	}
	for _, name := range must(filepath.Glob(filepath.Join(filepath.Dir(path), "*"))) {
		if mode := must(os.Stat(name)).Mode(); mode != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(name), mode)
		}
		if !strings.HasPrefix(filepath.Base(name), "a ledger?#%41.db") {
			t.Errorf("unexpected file %s", name)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		must(0, os.WriteFile(path, []byte(text), mode))
		return path
	}
	other := filepath.Join(dir, "other.db")
	db := must(sql.Open("sqlite", other))
	must(db.Exec("CREATE TABLE t (x)"))
	db.Close()
	must(0, os.Chmod(other, 0o600))
	newer := filepath.Join(dir, "newer.db")
	j := must(OpenSQLite(newer))
	must(j.db.Write.Exec("PRAGMA user_version = 99"))
	j.Close()
	for path, want := range map[string]string{
		write("text", strings.Repeat("not a database ", 99), 0o600): "not a Caucus ledger",
		write("open", "", 0o644):                                    "chmod 600",
		write("empty", "", 0o600):                                   "something else emptied it",
		other:                                                       "not a Caucus ledger",
		newer:                                                       "newer program",
		dir:                                                         "not a regular file",
		filepath.Join(dir, "none", "new"):                           "folder must exist",
	} {
		if _, err := OpenSQLite(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
}

// TestFullDisk: a release that does not fit on the disk fails with that reason, spends nothing, and
// succeeds once there is room.
func TestFullDisk(t *testing.T) {
	j := openFile(t, filepath.Join(t.TempDir(), "ledger"))
	must(release(ctx, j, "first"))
	var pages int
	must(0, j.db.Write.QueryRow("PRAGMA page_count").Scan(&pages))
	must(j.db.Write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)))
	var err error
	spent := int64(1)
	for ; err == nil; spent++ { // until the file may not grow
		_, err = release(ctx, j, fmt.Sprint("r", spent))
	}
	if !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("error is %v", err)
	}
	must(j.db.Write.Exec("PRAGMA max_page_count = 100000"))
	if got := charges(t, j); got != spent-1 {
		t.Errorf("%d charges for %d answers", got, spent-1)
	}
	must(release(ctx, j, fmt.Sprint("r", spent-1)))
	if got := charges(t, j); got != spent {
		t.Errorf("%d charges for %d answers", got, spent)
	}
}

// TestManyWriters: goroutines release through two handles on one file; each id has one answer and
// one charge.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	manyWriters(t, openFile(t, path), openFile(t, path))
}

func manyWriters(t *testing.T, handles ...*Journal) {
	answers := make([]privacy.Published, 60)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			p, err := release(ctx, handles[i/3%2], fmt.Sprint(i%3))
			if err != nil {
				t.Error(err)
			}
			answers[i] = p
		})
	}
	wg.Wait()
	for i, p := range answers {
		if !reflect.DeepEqual(p, answers[i%3]) {
			t.Fatalf("id %d has two answers", i%3)
		}
	}
	if got := charges(t, handles[0]); got != 3 {
		t.Errorf("%d charges", got)
	}
}

// child is an environment variable with a ledger file. It turns the test binary into a process that
// releases on this file, and prints its answers, until it is killed.
const child = "CAUCUS_JOURNAL_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(child); path != "" {
		j := must(OpenSQLite(path))
		for i := 0; ; i++ {
			p := must(release(ctx, j, fmt.Sprintf("%d/%d", os.Getpid(), i)))
			fmt.Printf("%s %d\n", p.ID, p.Values)
		}
	}
	os.Exit(m.Run())
}

// TestKill: a process that keeps releasing is killed at random moments. Each answer that it printed
// is in the ledger, unchanged; the chain verifies; each id has one entry and one charge.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	said := map[string]string{}
	for range 12 {
		cmd := exec.Command(must(os.Executable()))
		cmd.Env = append(os.Environ(), child+"="+path)
		cmd.Stderr = os.Stderr
		out := must(cmd.StdoutPipe())
		must(0, cmd.Start())
		lines := bufio.NewScanner(out)
		// Kill at a random moment after the first answer, anywhere in a release.
		var once sync.Once
		for lines.Scan() {
			id, values, ok := strings.Cut(lines.Text(), " ")
			if ok && strings.HasSuffix(values, "]") {
				said[id] = values
			}
			once.Do(func() {
				time.AfterFunc(time.Duration(rand.IntN(30000))*time.Microsecond, func() {
					cmd.Process.Kill()
				})
			})
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the process ended with %v", err)
		}
		// The dead process left this file open.
		j := must(OpenSQLite(path))
		n := charges(t, j)
		var entries, ids int64
		must(0, j.db.Write.QueryRow("SELECT count(*), count(DISTINCT id) FROM entries").Scan(&entries, &ids))
		if n != entries || ids != entries {
			t.Errorf("%d charges, %d entries, %d ids", n, entries, ids)
		}
		for id, values := range said {
			p, err := release(ctx, j, id)
			if err != nil || fmt.Sprint(p.Values) != values {
				t.Fatalf("%s was %s and is %v, %v", id, values, p.Values, err)
			}
		}
		if after := charges(t, j); after != n {
			t.Errorf("asking again spent: %d charges, then %d", n, after)
		}
		j.Close()
	}
	if len(said) < 12 {
		t.Errorf("only %d answers in all", len(said))
	}
}

// BenchmarkRelease releases 10,000 cells on a file.
func BenchmarkRelease(b *testing.B) {
	j := openFile(b, filepath.Join(b.TempDir(), "ledger"))
	bound := privacy.Bound{Unit: privacy.Party, L2sq: 2 << 20, Weight: make([]int64, 10000)}
	for i := range bound.Weight {
		bound.Weight[i] = 1<<20 - int64(i%3000)
	}
	s := must(privacy.NewSensitive(make([]int64, 10000), bound))
	m := must(privacy.CalibrateGaussian(bound, privacy.Budget{Epsilon: 1, Delta: 1e-6}))
	l := must(privacy.Open(j, privacy.Config{}))
	for i := 0; b.Loop(); i++ {
		must(l.Release(ctx, fmt.Sprint(i), s, m))
	}
}
