package main

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/siteverbs"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/internal/testlevel"
)

// TestMain lets scripts run the real command line in processes of their own.
func TestMain(m *testing.M) {
	testlevel.InMemory()
	os.Setenv("GOGC", "800")       // for short processes
	flag.Set("test.parallel", "8") // daemons wait more than they compute
	testscript.Main(tidy{m}, map[string]func(){"caucus": func() {
		killAt(os.Getenv("CAUCUS_TEST_KILL_AT"))
		witnessWait = 100 * time.Millisecond
		underFaults()
		main()
	}, "caucus-agent": func() {
		killAt(os.Getenv("CAUCUS_TEST_KILL_AT"))
		underFaults()
		console.Main(siteRoot)
	}})
}

// Main runs one command line. It returns 0 for success, 1 for failure, 2 for wrong usage.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return console.Execute(ctx, newRoot, args, stdout, stderr)
}

// siteRoot makes the commands of caucus-agent.
func siteRoot(c *console.Console) *cobra.Command {
	return siteverbs.NewRoot(c, siteverbs.Program{Checkpoint: checkpoint})
}

// tidy returns a failure if tests leave goroutines behind.
type tidy struct{ *testing.M }

func (t tidy) Run() int {
	code := t.M.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// killAt makes a daemon of this test kill itself with SIGKILL at its n-th effect.
func killAt(text string) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return
	}
	checkpoint = func(string) {
		if n--; n == 0 {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		}
	}
}

// TestScripts runs the scripts in testdata/script, which read as user documentation. Each script
// gets four hospitals' records, a public pool, a fifth file that takes no part, four wards' triage
// in three classes, and a free port.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestDemo runs the demo. It takes longest, so it starts early.
func TestDemo(t *testing.T) { runScripts(t, "testdata/demo") }

// TestSiteScripts runs scripts again at sites that have caucus-agent and not caucus: the same
// verbs, the same words. A line about an agent's own ledger goes to caucus-agent too.
func TestSiteScripts(t *testing.T) {
	dir := t.TempDir()
	ledger := regexp.MustCompile(`\bcaucus (ledger \w+ .*--config)`)
	for _, name := range testlevel.Of(t, []string{"check.txtar", "courier.txtar", "policy.txtar",
		"join.txtar", "restored.txtar", "putback.txtar", "aggregatorparty.txtar"}, 3) {
		text, err := os.ReadFile(filepath.Join("testdata", "script", name))
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.ReplaceAll(string(text), "caucus agent ", "caucus-agent ")
		whole = ledger.ReplaceAllString(whole, "caucus-agent $1")
		if strings.Count(whole, "caucus-agent ") < 7 {
			t.Errorf("%s is about no agent", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runScripts(t, dir)
}

func runScripts(t *testing.T, dir string) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   dir,
		Setup: setup,
		// [long] marks a line that repeats for another case what a line without the mark already
		// checks.
		Condition: func(name string) (bool, error) { return name == "long" && testlevel.Long(), nil },
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually, "says": says, "complains": complains, "append": appendLine, "admissions": admissions, "untouched": untouched, "doctor": doctor, "exports": exports, "stays": staysCommand, "changes": changesCommand, "proxy": proxy(), "field": field, "swap": swapSealed, "cut": cutFile},
	})
}

// planted is a cell that occurs in private records only.
const planted = "271.8281"

func setup(e *testscript.Env) error {
	for _, name := range []string{"PORT", "HELPERPORT", "OTHERPORT"} {
		port, err := testlevel.FreePort()
		if err != nil {
			return err
		}
		e.Setenv(name, port)
	}
	e.Setenv("CAUCUS_DATA", os.Getenv("CAUCUS_DATA"))
	examples, err := filepath.Abs(filepath.Join("..", "..", "deploy", "examples"))
	if err != nil {
		return err
	}
	e.Setenv("EXAMPLES", examples)
	group, err := hospitals(e.WorkDir)
	if err != nil {
		return err
	}
	e.Setenv("GROUP", group)
	if err := triage(e.WorkDir); err != nil {
		return err
	}
	if err := clinics(e.WorkDir); err != nil {
		return err
	}
	// Records like the generated ones of simulations, even if the hospitals are real.
	c := public.DefaultHospitalConfig()
	c.Records = 60
	table, schema := public.Hospitals(c)
	return writeHospital(filepath.Join(e.WorkDir, "generated.csv"), schema, table, false)
}

// admissions writes a file of generated records: their number and seed are arguments.
func admissions(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: admissions file records seed")
	}
	c := public.DefaultHospitalConfig()
	var err error
	c.Records, err = strconv.Atoi(args[1])
	ts.Check(err)
	c.Seed, err = strconv.ParseUint(args[2], 10, 64)
	ts.Check(err)
	table, schema := public.Hospitals(c)
	ts.Check(writeHospital(ts.MkAbs(args[0]), schema, table, false))
}

// hospitals writes schema.yaml, pool.csv, fifth.csv and one file for each hospital: real ones if
// CAUCUS_DATA has them, else generated ones. It adds a text column.
func hospitals(dir string) (group string, err error) {
	var table *dataset.Table
	var schema dataset.Schema
	if data := os.Getenv("CAUCUS_DATA"); data != "" {
		known, err := public.LoadKnownDataset("heart_disease")
		if err != nil {
			return "", err
		}
		if table, err = known.Load(os.DirFS(data), "train"); err != nil {
			return "", err
		}
		schema = known.Schema.WithoutFormat() // the files written here have a header
	} else {
		c := public.DefaultHospitalConfig()
		c.Sites, c.Records = 4, 920
		table, schema = public.Hospitals(c)
	}
	for _, feature := range schema.Features {
		if feature.Kind == dataset.Categorical {
			group = feature.Column
		}
	}
	files := map[string][]int{}
	sites := map[string]string{}
	for n, i := range rand.New(rand.NewPCG(1, 1)).Perm(table.Rows()) {
		site, _ := table.Cell(i, schema.Party)
		if _, ok := sites[site]; !ok {
			sites[site] = fmt.Sprintf("hospital-%c", 'a'+len(sites))
		}
		to := sites[site]
		switch n % 5 {
		case 0:
			to = "pool"
		case 1:
			to = "fifth"
		}
		files[to] = append(files[to], i)
	}
	schema.Columns, schema.Party = nil, ""
	text, err := schema.YAML()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "schema.yaml"), text, 0o600); err != nil {
		return "", err
	}
	for name, rows := range files {
		if err := writeHospital(filepath.Join(dir, name+".csv"), schema, table.Select(rows),
			name == "pool"); err != nil {
			return "", err
		}
	}
	return group, nil
}

// writeHospital writes records with labels, or a pool without. A hospital's first number is
// planted.
func writeHospital(path string, s dataset.Schema, t *dataset.Table, pool bool) error {
	columns := s.FeatureColumns()
	if !pool {
		columns = append(columns, s.Label.Column)
		if s.Patient != "" {
			columns = append(columns, s.Patient)
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := csv.NewWriter(file)
	out.Write(columns)
	for i := range t.Rows() {
		row := make([]string, len(columns))
		for j, c := range columns {
			row[j], _ = t.Cell(i, c)
			if c == "chol" && row[j] == "0" {
				row[j] = "" // one hospital writes 0 for a cholesterol that was not measured
			}
		}
		if i == 0 && strings.Contains(path, "hospital-") {
			row[0] = planted
		}
		out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// patience is how long a script waits for a daemon. On a busy machine an agent's window grows with
// the machine's slowness, to a minute and more.
const patience = 3 * time.Minute

// until tries again and again, with growing pauses, for patience at most.
func until(done func() bool) bool {
	pause, end := 50*time.Millisecond, time.Now().Add(patience)
	for !done() {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
		pause = min(2*pause, 400*time.Millisecond)
	}
	return true
}

// eventually runs a command until it succeeds, for effects that a daemon's work or start brings
// about.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually command...")
	}
	var err error
	if !until(func() bool { err = ts.Exec(args[0], args[1:]...); return err == nil }) {
		ts.Fatalf("%s: still failing after %v: %v", strings.Join(args, " "), patience, err)
	}
}

// says runs a command until stdout has a text.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: says text command...")
	}
	var err error
	if !until(func() bool {
		err = ts.Exec(args[1], args[2:]...)
		return err == nil && strings.Contains(ts.ReadFile("stdout"), args[0])
	}) {
		ts.Fatalf("%s: does not say %q after %v: %v", strings.Join(args[1:], " "), args[0],
			patience, err)
	}
}

// complains runs a command until it fails with a text on stderr.
func complains(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: complains text command...")
	}
	if !until(func() bool {
		return ts.Exec(args[1], args[2:]...) != nil &&
			strings.Contains(ts.ReadFile("stderr"), args[0])
	}) {
		ts.Fatalf("%s: does not complain of %q after %v", strings.Join(args[1:], " "), args[0],
			patience)
	}
}

// appendLine appends the last line of the last command's stdout to a file, as a person pastes it
// into a configuration.
func appendLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: append file")
	}
	lines := strings.Split(strings.TrimRight(ts.ReadFile("stdout"), "\n"), "\n")
	file, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = fmt.Fprintln(file, lines[len(lines)-1])
	ts.Check(err)
	ts.Check(file.Close())
}

// untouched fails if a record got into a file, or into the output of the last background commands.
func untouched(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		if strings.Contains(ts.ReadFile(name), planted) {
			ts.Fatalf("%s holds a private value", name)
		}
	}
}

// doctor copies a file and replaces one text, which must occur in the file.
func doctor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: doctor from to old new")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[2]) {
		ts.Fatalf("%s does not hold %q", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Replace(text, args[2], args[3], 1)),
		0o600))
}
