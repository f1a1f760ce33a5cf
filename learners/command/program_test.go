//go:build !windows

package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
)

const pageYAML = `
label: {column: ill, classes: ["no", "yes, badly"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100, missing: true}
  - {columns: [p0..p1], kind: categorical, levels: [f, m]}
missing: "?"
`

// page returns two labelled records, one without a label, and three rows of a pool.
func page(t testing.TB) (dataset.Schema, *dataset.Records, *mat.Dense) {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(pageYAML))
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) *dataset.Records {
		table, err := dataset.ReadCSV(strings.NewReader(text), dataset.Format{})
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := s.Encode(table)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	records := read("age,p0,p1,ill\n41,f,m,no\n?,x,m,\"yes, badly\"\n")
	pool := read("age,p0,p1\n7.25,f,f\n200,m,\"\"\n,m,m\n")
	return s, records, pool.X
}

// shell returns a program of one line of shell, in its own folder.
func shell(t testing.TB, line string) Program {
	t.Helper()
	return Program{Command: []string{"/bin/sh", "-c", line, "vote"}, Timeout: 30 * time.Second,
		Dir: t.TempDir(), Scratch: t.TempDir()}
}

// TestVote: a program sees the schema's columns in the schema's units and words, and its classes
// come back in the order of the pool.
func TestVote(t *testing.T) {
	s, records, pool := page(t)
	p := shell(t, `cp "$1" "$2" "$3" . && printf 'no\r\nyes, badly\nno\n'`)
	votes, err := p.Vote(context.Background(), s, records, pool)
	if err != nil || !slices.Equal(votes, []int{0, 1, 0}) {
		t.Fatalf("votes %v: %v", votes, err)
	}
	for name, want := range map[string]string{
		recordsFile: "age,p0,p1,ill\n41,f,m,no\n,other,m,\"yes, badly\"\n",
		poolFile:    "age,p0,p1\n7.25,f,f\n100,m,other\n,m,m\n",
	} {
		got, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is %q, want %q (%v)", name, got, want, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, schemaFile))
	if err != nil || !strings.Contains(string(text), `"column": "p1"`) || !strings.Contains(string(text), `"other"`) || strings.Contains(string(text), "p0..p1") {
		t.Errorf("the schema is %s (%v)", text, err)
	}
	left, err := os.ReadDir(p.Scratch)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestOneEmptyCell: a row whose only cell is missing is written so that readers do not skip it.
func TestOneEmptyCell(t *testing.T) {
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: ill, classes: ["no", "yes"]}
features: [{column: age, kind: numeric, min: 0, max: 100, missing: true}]
`))
	if err != nil {
		t.Fatal(err)
	}
	table, err := dataset.ReadCSV(strings.NewReader("age,ill\n41,no\n,yes\n7,no\n"),
		dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	p := shell(t, `cp "$2" . && tail -n +2 "$2" | grep . | sed 's/.*/no/'`)
	votes, err := p.Vote(context.Background(), s, records, records.X)
	if err != nil || !slices.Equal(votes, []int{0, 0, 0}) {
		t.Errorf("votes %v: %v", votes, err)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, poolFile))
	if want := "age\n41\n\"\"\n7\n"; err != nil || string(text) != want {
		t.Errorf("the pool is %q, want %q (%v)", text, want, err)
	}
}

// TestNoVotes: each mistake of a program gives an error that describes it, and no votes.
func TestNoVotes(t *testing.T) {
	s, records, pool := page(t)
	for line, want := range map[string]string{
		`echo no; echo no`:                   "2 lines for 3 rows",
		`echo no; echo no; echo no; echo no`: "4 lines for 3 rows",
		`true`:                               "0 lines",
		`echo no; echo maybe; echo no`:       `line 2 of its answer, "maybe", is none of the classes no, yes, badly`,
		`echo no; echo NO; echo no`:          "line 2",
		`echo no; echo; echo no`:             "line 2",
		`echo no; echo no; echo no; echo broken >&2; exit 3`: "exit status 3; it said: broken",
		`yes no`:                    "more than a line for each row",
		`kill -9 $$`:                "killed",
		`exec not-a-program-at-all`: "it said",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := shell(t, line)
			if line == "yes no" { // until it is killed
				p.Timeout = 300 * time.Millisecond
				want = "not done after 300ms"
			}
			votes, err := p.Vote(context.Background(), s, records, pool)
			if err == nil || votes != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("votes %v, error %v, want %q", votes, err, want)
			}
			left, err := os.ReadDir(p.Scratch)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// TestTooMuch: an answer longer than the rows need is dropped.
func TestTooMuch(t *testing.T) {
	s, records, pool := page(t)
	p := shell(t, `head -c 5000000 /dev/zero`)
	if _, err := p.Vote(context.Background(), s, records, pool); err == nil ||
		!strings.Contains(err.Error(), "more than a line for each row") {
		t.Error(err)
	}
}

// TestGroupIsKilled: after its end, all processes of a program are gone, whether it reached its
// time limit or left a process behind.
func TestGroupIsKilled(t *testing.T) {
	s, records, pool := page(t)
	for line, ok := range map[string]bool{
		`sleep 600 & echo $! > child; wait`:                                      false,
		`sleep 600 >/dev/null 2>&1 & echo $! > child; echo no; echo no; echo no`: true,
		// the child keeps the output open
		`sleep 600 & echo $! > child; echo no; echo no; echo no`: true,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := shell(t, line)
			if !ok {
				p.Timeout = time.Second
			}
			if _, err := p.Vote(context.Background(), s, records, pool); (err == nil) != ok {
				t.Errorf("error %v", err)
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, "child"))
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for range 500 { // the process that adopted it must notice its end
				state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
				if syscall.Kill(child, 0) != nil || err == nil &&
					strings.Contains(string(state), ") Z ") {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("process %d lives on", child)
		})
	}
}

// TestNothingIsInherited: a program gets the paths of programs and temporary files from the
// environment, and no variable that holds a secret.
func TestNothingIsInherited(t *testing.T) {
	t.Setenv("CAUCUS_SECRET", "planted-in-the-environment")
	s, records, pool := page(t)
	p := shell(t, `env > environment; ls -l /proc/$$/fd > files 2>/dev/null; touch "$TMPDIR/mine"; echo no; echo no; echo no`)
	if _, err := p.Vote(context.Background(), s, records, pool); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, "environment"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains([]string{"TMPDIR", "TMP", "TEMP", "PATH", "HOME", "LANG", "LC_ALL",
			"PWD", "SHLVL", "_", "OLDPWD"}, name) {
			t.Errorf("it was told %s", line)
		}
	}
	if left, err := os.ReadDir(p.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestMemoryIsLimited: a program cannot use more than its limit.
func TestMemoryIsLimited(t *testing.T) {
	if !CanLimitMemory {
		t.Skip("memory is limited on Linux only")
	}
	s, records, pool := page(t)
	hungry := `x=$(head -c 150000000 /dev/zero | tr '\0' a) && echo no && echo no && echo no`
	p := shell(t, hungry)
	p.Memory = 64 << 20
	if votes, err := p.Vote(context.Background(), s, records, pool); err == nil {
		t.Errorf("it took 150 MB of 64 MiB and voted %v", votes)
	}
}

// TestEndsWithItsContext: a program ends with its context, before its own time limit.
func TestEndsWithItsContext(t *testing.T) {
	s, records, pool := page(t)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := shell(t, "sleep 20").Vote(ctx, s, records, pool); err == nil {
		t.Error("it voted")
	}
}

func TestValidate(t *testing.T) {
	for want, p := range map[string]Program{
		"command":        {},
		"timeout":        {Command: []string{"x"}, Timeout: time.Millisecond},
		"memory":         {Command: []string{"x"}, Memory: 100},
		"cannot be run":  {Command: []string{"not-a-program-at-all"}},
		"cannot be run:": {Command: []string{"./not-here.sh"}, Dir: t.TempDir()},
	} {
		if _, err := p.Find(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
	if path, err := (Program{Command: []string{"sh"}}).Find(); err != nil || !filepath.IsAbs(path) {
		t.Errorf("sh is at %q: %v", path, err)
	}
}

// FuzzParse: no answer makes the reader panic, and an accepted one has one class a row.
func FuzzParse(f *testing.F) {
	classes := []string{"no", "yes, badly", "3"}
	f.Add([]byte("no\n3\nno\n"), 3)
	f.Add([]byte("no\r\n3"), 2)
	f.Add([]byte("\n\n"), 1)
	f.Fuzz(func(t *testing.T, answer []byte, rows int) {
		rows = min(max(rows, 0), 1000)
		votes, err := parse(answer, classes, rows)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, v := range votes {
			again.WriteString(classes[v] + "\n")
		}
		plain := strings.ReplaceAll(string(answer), "\r\n", "\n")
		plain = strings.TrimSuffix(strings.TrimSuffix(plain, "\n"), "\r")
		if len(votes) != rows || strings.TrimSuffix(again.String(), "\n") != plain {
			t.Errorf("%q is read as %q", answer, again.String())
		}
	})
}
