package privacy

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"caucus/privacy/audit"
)

// drawnBy is an environment variable. In a process that this test starts, it names the door to
// draw from.
const drawnBy = "CAUCUS_TEST_DRAWN_BY"

// doorsOfAProcess lists the doors that another process can draw from: the ledger of Open, and a
// mistaken door seeded by a public counter.
var doorsOfAProcess = map[string]func() door{"open": opened, "counter": counted}

func processTrials() []Trial {
	return []Trial{
		{Mechanism: DiscreteLaplace{Scale: big.NewRat(1000, 1)}, Bound: Bound{Unit: Record, L1: 1}, Data: [2][]int64{make([]int64, realNumbers)}},
		{Mechanism: DiscreteGaussian{big.NewRat(1_000_000, 1)}, Bound: Bound{Unit: Record, L2sq: 1}, Data: [2][]int64{make([]int64, realNumbers)}},
	}
}

// TestAnotherProcess runs in the other process and prints what its door draws.
func TestAnotherProcess(t *testing.T) {
	open := doorsOfAProcess[os.Getenv(drawnBy)]
	if open == nil {
		open = opened // without the variable, in this process
	}
	var values [][]int64
	for _, trial := range processTrials() {
		for _, a := range answersOf(open, trial, 2) {
			values = append(values, a.Published.Values)
		}
	}
	if os.Getenv(drawnBy) != "" {
		fmt.Printf("drawn: %s\n", must(json.Marshal(values)))
	}
}

// drawnElsewhere starts this test's program twice at once and returns both draws.
func drawnElsewhere(t *testing.T, door string) []answer {
	t.Helper()
	var processes []*exec.Cmd
	var outputs []*strings.Builder
	for range 2 {
		c := exec.CommandContext(t.Context(), must(os.Executable()),
			"-test.run=^TestAnotherProcess$", "-test.count=1")
		c.Env = append(os.Environ(), drawnBy+"="+door)
		out := &strings.Builder{}
		c.Stdout, c.Stderr = out, out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		processes, outputs = append(processes, c), append(outputs, out)
	}
	var answers []answer
	for k, c := range processes {
		if err := c.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, outputs[k])
		}
		_, drawn, _ := strings.Cut(outputs[k].String(), "drawn: ")
		drawn, _, _ = strings.Cut(drawn, "\n")
		var values [][]int64
		if err := json.Unmarshal([]byte(drawn), &values); err != nil {
			t.Fatalf("%v\n%s", err, outputs[k])
		}
		trials := processTrials()
		each := len(values) / len(trials)
		for i, v := range values {
			trial := trials[i/each]
			p := Published{Mechanism: trial.Mechanism.Name(),
				Parameters: trial.Mechanism.parameters(), Bound: trial.Bound, Values: v}
			answers = append(answers, answer{p, trial.Data[0]})
		}
	}
	return answers
}

// TestTwoProcessesDrawApart: ledgers that Open makes in two processes, started together, draw
// independent noise from their own streams. The test finds a ledger that draws from a public
// counter. False alarms: 1e-12.
func TestTwoProcessesDrawApart(t *testing.T) {
	if f := must(looked(audit.DefaultDependenceTest(), drawnElsewhere(t, "open"))); f.Dependent {
		t.Errorf("two processes draw noise that hangs together: %s", f.By)
	} else {
		t.Logf("%d numbers of two processes, %d tests, nearest %.2f: %s", f.Numbers, f.Tests, f.Share, f.By)
	}
	f := must(looked(audit.DefaultDependenceTest(), drawnElsewhere(t, "counter")))
	t.Logf("F: drawn from a public counter: %.2f, %s", f.Share, f.By)
	if !f.Dependent {
		t.Error("F: two processes that draw from a public counter are not found")
	}
}

// TestLedgerHasNoStream: no field of a ledger is a random stream or makes one, and system has no
// fields. A ledger with a seed marks its answers as simulated.
func TestLedgerHasNoStream(t *testing.T) {
	if s := reflect.TypeFor[system](); s.Kind() != reflect.Struct || s.NumField() != 0 {
		t.Errorf("system is a %v with fields: something could be put there", s.Kind())
	}
	ledger := reflect.TypeFor[Ledger]()
	for i := range ledger.NumField() {
		f := ledger.Field(i)
		if f.Type.Kind() == reflect.Func || f.Type.Implements(reflect.TypeFor[io.Reader]()) ||
			f.Type.Implements(reflect.TypeFor[dice]()) {
			t.Errorf("Ledger.%s can make noise", f.Name)
		}
		if f.Type.Kind() == reflect.Interface && f.Type != reflect.TypeFor[Journal]() {
			t.Errorf("Ledger.%s is a %v: who fills it could replace the noise", f.Name, f.Type)
		}
	}
	real := must(Open(NewMemoryJournal(), Config{}))
	if d, ok := real.dice("any").(*exactDice); !ok || d.stream != (system{}) {
		t.Error("a ledger that Open made does not draw from the system")
	}
	seeded := NewSimulation(1)
	p := must(seeded.Release(t.Context(), "a",
		must(NewSensitive([]int64{1}, Bound{Unit: Record, L1: 1})),
		DiscreteLaplace{Scale: big.NewRat(1, 1)}))
	if !p.Simulated || seeded.dice("a").(*exactDice).stream == (system{}) {
		t.Error("a simulation draws from the system, or does not say that it is one")
	}
}

// TestNothingReplacesTheSystemsRandomness: no code of this module, tests included, assigns to
// crypto/rand's Reader, takes its address, or asks the testing package to replace it.
func TestNothingReplacesTheSystemsRandomness(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		for _, what := range replacements(t, path, nil) {
			t.Errorf("%s: %s", path, what)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("read %d files: %v", files, err)
	}
	for name, body := range map[string]string{
		"assigned": "rand.Reader = nil", "one of two": "_, rand.Reader = 1, nil", "by address": "p := &rand.Reader; *p = nil",
	} {
		if len(replacements(t, "x.go",
			"package x\nimport \"crypto/rand\"\nfunc f() { "+body+" }")) != 1 {
			t.Errorf("%s: not found", name)
		}
	}
	if len(replacements(t, "x.go", "package x\nimport r \"crypto/rand\"\nfunc f() { r.Reader = nil }")) != 1 {
		t.Error("under another name: not found")
	}
}

// replacements lists the places in a file that replace crypto/rand's Reader.
func replacements(t *testing.T, path string, source any) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, i := range file.Imports {
		switch i.Path.Value {
		case `"testing/cryptotest"`:
			found = append(found, "imports testing/cryptotest")
		case `"crypto/rand"`:
			if name = "rand"; i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	reader := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Reader" {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && name != "" && x.Name == name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if reader(e) {
					found = append(found, "assigns to crypto/rand's Reader")
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND && reader(n.X) {
				found = append(found, "takes the address of crypto/rand's Reader")
			}
		}
		return true
	})
	return found
}
