//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/dataset/public"
	"caucus/internal/testlevel"
)

var updateMistakes = flag.Bool("update-mistakes", false, "write testdata/mistakes.md anew")

// mistakes collects people's mistakes and the messages about them.
type mistakes struct {
	t     *testing.T
	ctx   context.Context
	hide  *strings.Replacer
	table strings.Builder
	n     int
	// golden is the file with the table.
	golden string
}

// caucus runs a command line; '…' quotes a word.
func (m *mistakes) caucus(line string) (code int, out, problems string) {
	var said, failed bytes.Buffer
	code = Main(m.ctx, wordsOf(line), &said, &failed)
	return code, said.String(), failed.String()
}

func wordsOf(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// right runs a command that must succeed.
func (m *mistakes) right(line string) {
	m.t.Helper()
	if code, _, said := m.caucus(line); code != 0 {
		m.t.Errorf("caucus %s: %d %s", line, code, said)
	}
}

// wrong runs a command that is a mistake.
func (m *mistakes) wrong(mistake, line string) {
	m.t.Helper()
	code, out, said := m.caucus(line)
	if said == "" {
		said = out
	}
	m.row(mistake, "caucus "+line, said, code)
}

// found runs a command whose answer has lines about a mistake; it keeps the lines with one of these
// texts.
func (m *mistakes) found(mistake, line string, texts ...string) {
	m.t.Helper()
	code, out, said := m.caucus(line)
	var kept []string
	for l := range strings.Lines(out + said) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(l, text) }) {
			kept = append(kept, l)
		}
	}
	m.row(mistake, "caucus "+line, strings.Join(kept, ""), code)
}

// changing matches the parts of messages that differ from run to run.
var changing = []struct {
	part *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b`), "HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?( UTC)?`), "TIME"},
	{regexp.MustCompile(`20\d\d-\d\d-\d\d`), "DAY"},
	{regexp.MustCompile(`called (just now|\d+s ago)`), "called just now"},
	{regexp.MustCompile(` {2,}`), "  "},
}

func (m *mistakes) row(mistake, line, said string, code int) {
	m.n++
	said = m.hide.Replace(said)
	for _, c := range changing {
		said = c.part.ReplaceAllString(said, c.as)
	}
	cell := func(s string) string {
		return strings.NewReplacer("|", `\|`, "\n", "<br>").Replace(strings.TrimSpace(s))
	}
	fmt.Fprintf(&m.table, "| %s: `%s` | %s | %d | %s |\n", cell(mistake), cell(m.hide.Replace(line)), cell(said), code, cell(cmp.Or(toldBefore[mistake], toldBefore[line])))
}

func (m *mistakes) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// changed writes a copy of a file with one text replaced.
func (m *mistakes) changed(from, to, old, new string) {
	m.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil || !strings.Contains(string(text), old) {
		m.t.Fatalf("%s: %v, %q", from, err, old)
	}
	m.write(to, strings.Replace(string(text), old, new, 1))
}

// daemon runs a daemon until stop is called or the test ends.
func (m *mistakes) daemon(line string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var said lines
		if code := Main(ctx, wordsOf(line), &said, &said); code != 0 {
			m.t.Errorf("caucus %s: %d %s", line, code, said.String())
		}
	}()
	stop = func() { cancel(); <-done }
	m.t.Cleanup(stop)
	return stop
}

func (m *mistakes) eventually(line string) {
	m.t.Helper()
	if !until(func() bool { code, _, _ := m.caucus(line); return code == 0 }) {
		m.t.Fatalf("caucus %s: still fails", line)
	}
}

// toldBefore holds the messages that earlier versions gave, by command or by mistake. The table
// shows them beside those of today.
var toldBefore = map[string]string{
	"unknown flag":                                          "unknown flag: --…",
	"flag without its value":                                "flag needs an argument: --epsilon",
	"caucus study show ward heart":                          "study show needs one STUDY",
	"missing file":                                          "open …: open …: no such file or directory",
	"caucus coordinator run --dir nowhere":                  "stat nowhere/coordinator.yaml: no such file or directory",
	"folder given as a file":                                "read .: is a directory",
	"caucus release show empty":                             "not a release file, as caucus study result --out writes: EOF",
	"caucus agent enrol --config a.yaml --invitation empty": "invalid request: this is no invitation; it starts with \"caucus-invitation-1.\"",
	"file that is no invitation":                            "invalid request: this is no invitation; it starts with \"caucus-invitation-1.\"",
	"release cut off in the middle":                         "unexpected EOF",
	"2.5 GB as a release":                                   "not a release file: invalid character '\\x00' looking for beginning of value, after all of it was read",
	"2.5 GB as a model":                                     "invalid character '\\x00' looking for beginning of value, after all of it was read",
	"class list of one":                                     "classes has 1 entries; list at least two",
	"ctrl-C during a simulation":                            "stopped before it was done: context canceled",
	"ctrl-C during a wait":                                  "stopped waiting: …: context canceled",
	"file of another account":                               "open secret.json: permission denied",
	"full disk":                                             "write …: no space left on device",
	"folder of another kind":                                "stat coordinator.yaml: no such file or directory",
	"coordinator that does not run":                         "the coordinator is not available: connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:7443: connect: connection refused\"",
	"wrong address":                                         "the coordinator is not available: connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:7444: connect: connection refused\"",
	"profile of another coordinator":                        "whoever answers there is not the coordinator that invited: check the address",
	"missing profile":                                       "stat nobody.yaml: no such file or directory: enrol first, or name the right file",
	"file of an invitation that is there already":           "open a.invitation: file exists",
	"invitation that is good for too short a time":          "an invitation, good for the coordinator's own time",
	"party that is enrolled already":                        "an invitation, and not a word",
	"file changed after its import":                         "the file is not what it was on that day: studies get what was imported then",
	"name that no study has: name: Ward A":                  "a study, against the reference",
	"study made twice":                                      "create study: create study ward: exists already: …",
	"study opened twice":                                    "the study, and not a word",
	"result before the release":                             "not found: the study has no release: it is open",
	"edges that are no numbers":                             "1: edges: 1: found \"young\", want a number",
	"2.5 GB as a study file":                                "it is longer than 1048576 bytes: it is something else",
	"clock two years slow":                                  "…: set the clock (connection error: desc = \"transport: authentication handshake failed: tls: …)",
	"party that is named twice: [a, a]":                     "roster: a party is listed twice",
	"caucus agent approve ward --config a.yaml":             "there is no study \"ward\" here: see caucus agent preview",
	"caucus study show ward":                                "no study \"ward\" that operator may see: give its name or the beginning of its hash",
	"rows that lack columns":                                "…; rename the columns or correct the schema",
	"restore of a damaged backup":                           "ledger.db is not what was backed up: it was damaged or changed",
	"preview":                                               "map[variance:45206688101912]",
	"caucus agent answer costly.pack --out costly.answer --config a.yaml": "the policy does not allow this study: see caucus agent preview HASH (exit code 0)",
	"too few at the close":               "close study: too few have contributed: minimum 2, have 0",
	"study approved twice":               "approved ward",
	"released study approved":            "approved ward",
	"records given as a release":         "…: invalid character 'a' looking for beginning of value",
	"pack given as a release":            "…: invalid character 'c' looking for beginning of value",
	"study given as a configuration":     "unknown key \"name\": do you mean \"page\"?",
	"tag of a party that does not exist": "no member \"nobody\"",
	"export to what there is not":        "say which language with --to: json, onnx, python, r, sql",
	"condition that nobody meets":        "no training record has a label the schema knows: check the schema's label column and classes",
	"released study opened":              "open study: the study is not open: it is released",
	"restore of no backup":               "open second/backup.json: no such file or directory: it is no backup, as caucus coordinator backup makes them",
	"restore of a file":                  "open a.csv/backup.json: not a directory",
	"column that nothing was found for":  "idle columns are ",
}

const mistakenStudy = `name: ward
schema: schema.yaml
pool: pool.csv
map: {project: 2}
epsilon: 1
minimum: 2
closes_in: 10m
records: 70
roster: [a, b]
`

const mistakenAgent = `state: state-a
poll: 50ms
least_window: 100ms
max_backoff: 100ms
data: {ward: {file: a.csv, schema: schema.yaml}}
policy:
  kinds: [classify]
  mechanisms: [cross]
  noise: [site]
  study: {record: {epsilon: 1, delta: 1e-5}}
  total: {record: {epsilon: 1.2, delta: 1e-5}}
  approval: person
`

// TestMistakes makes people's mistakes, and compares the messages with testdata/mistakes.md, a
// table for reading.
func TestMistakes(t *testing.T) {
	golden, err := filepath.Abs("testdata/mistakes.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CAUCUS_DATA", "")
	t.Setenv("CAUCUS_PROFILE", "")
	witnessWait = 100 * time.Millisecond
	t.Cleanup(func() { witnessWait, now = 0, nil })
	dir := t.TempDir()
	t.Chdir(dir)
	port, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	other, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	m := &mistakes{t: t, ctx: t.Context(), golden: golden,
		hide: strings.NewReplacer(dir, "/home/me", port, "7443", other, "7444")}
	c := public.DefaultHospitalConfig()
	c.Records = 300
	table, schema := public.Hospitals(c)
	text, err := schema.YAML()
	if err != nil {
		t.Fatal(err)
	}
	m.write("schema.yaml", string(text))
	for name, i := range map[string]int{"a": 0, "b": 100, "pool": 200} {
		var rows []int
		for j := range 100 {
			rows = append(rows, i+j)
		}
		if err := writeHospital(name+".csv", schema, table.Select(rows),
			name == "pool"); err != nil {
			t.Fatal(err)
		}
	}
	m.write("study.yaml", mistakenStudy)
	m.write("a.yaml", mistakenAgent)
	m.changed("a.yaml", "b.yaml", "state-a", "state-b")
	m.changed("b.yaml", "b.yaml", "a.csv", "b.csv")
	m.changed("b.yaml", "b.yaml", "approval: person", "approval: policy")
	m.commandLine()
	m.files()
	m.machine()
	m.federation(port, other)
	head := "# Mistakes\n\nWhat people do wrong, and what they are told. `go test ./cmd/caucus -run TestMistakes -update-mistakes` writes this file; *before* is what they were told once.\n\n| mistake | message | exit code | before |\n|---|---|---|---|\n"
	have := head + m.table.String()
	if *updateMistakes {
		if err := os.WriteFile(golden, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	h, w := strings.Split(have, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(h), len(w)) {
		if i >= len(h) || i >= len(w) || h[i] != w[i] {
			t.Errorf("line %d of testdata/mistakes.md:\nhave %s\nwant %s", i+1, strings.Join(h[min(i, len(h)):min(i+1, len(h))], ""), strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	t.Logf("%d mistakes", m.n)
}

// commandLine makes mistakes that are found before any file is read.
func (m *mistakes) commandLine() {
	m.wrong("unknown verb", "study crate study.yaml")
	m.wrong("unknown verb", "studdy list")
	m.wrong("unknown flag", "study list --profil operator.yaml")
	m.wrong("unknown flag", "simulate classify --epsilom 1")
	m.wrong("flag without its value", "study create study.yaml --epsilon")
	m.wrong("too many arguments", "study show ward heart")
	m.wrong("too many arguments", "party list hospital-a")
	m.wrong("too few arguments", "release show")
	m.wrong("verb without its verb", "study")
	m.wrong("no profile", "study list")
	m.wrong("unknown kind", "simulate clasify")
	m.wrong("wrong value", "simulate classify --parties many")
	m.wrong("epsilon 0", "simulate classify --epsilon 0")
	m.wrong("epsilon negative", "simulate classify --epsilon -1")
	m.wrong("epsilon no number", "simulate classify --epsilon abc")
	m.wrong("δ too large", "forecast --parties 3 --delta 0.5")
	m.wrong("δ of 1", "simulate classify --delta 1")
	m.wrong("unknown data set", "simulate classify --dataset adlut --data-dir .")
	m.wrong("unit that the kind cannot give", "simulate labels --unit party")
	m.wrong("unit that does not exist", "simulate classify --unit person")
	m.wrong("too few parties", "simulate classify --parties 0")
	m.wrong("term of another kind", "simulate classify --set classes=yes")
	m.wrong("condition that reads the label", "simulate classify --mechanism tally --unit record --where readmitted==yes")
	m.wrong("edges that fall", "simulate evaluate --set 'by=[{column: age, edges: [60, 40]}]'")
	m.wrong("edges outside the bounds", "simulate evaluate --set 'by=[{column: age, edges: [40, 400]}]'")
	m.wrong("edges of a column that is not there", "simulate evaluate --set 'by=[{column: agee, edges: [40, 60]}]'")
	m.wrong("edges of a text", "simulate evaluate --set 'by=[{column: sex, edges: [1, 2]}]'")
	m.wrong("edges that are no numbers", "simulate evaluate --set 'by=[{column: age, edges: [young, old]}]'")
	m.wrong("edges where they cannot be given", "simulate describe --set 'edges={age: [40, 60]}'")
}

// files makes mistakes with files.
func (m *mistakes) files() {
	m.write("empty", "")
	m.right("simulate classify --parties 3 --epsilon 8 --set generate=400 --out release.json")
	for _, line := range []string{
		"simulate sutdy.yaml", "simulate classify --train recs.csv --schema schema.yaml", "simulate classify --train a.csv --schema shema.yaml",
		"release show relaese.json", "release predict release.json --data nothing.csv", "simulate evaluate --set model=nothing.json", "agent run --config nobody.yaml",
		"agent enrol --config a.yaml --invitation nothing.txt",
	} {
		m.wrong("missing file", line)
	}
	m.wrong("missing folder", "simulate classify --out nowhere/release.json")
	m.wrong("missing folder", "coordinator run --dir nowhere")
	for _, line := range []string{"release show .", "simulate ./", "simulate classify --train . --schema schema.yaml", "agent run --config ."} {
		m.wrong("folder given as a file", line)
	}
	for _, line := range []string{
		"release show empty", "simulate ./empty", "simulate classify --train empty --schema schema.yaml", "simulate classify --train a.csv --schema empty",
		"agent run --config empty", "agent enrol --config a.yaml --invitation empty",
	} {
		m.wrong("empty file", line)
	}
	whole, err := os.ReadFile("release.json")
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("cut.json", string(whole[:len(whole)/2]))
	m.wrong("release cut off in the middle", "release show cut.json")
	m.wrong("release cut off in the middle", "release verify cut.json")
	m.write("big", "")
	if err := os.Truncate("big", 5<<29); err != nil {
		m.t.Fatal(err)
	}
	m.wrong("2.5 GB as a study file", "simulate ./big")
	m.wrong("2.5 GB as a release", "release show big")
	m.wrong("2.5 GB as a model", "simulate evaluate --set model=big")
	m.wrong("2.5 GB as an invitation", "agent enrol --config a.yaml --invitation big")
	m.write("lacking.csv", "age,sex\n40,male\n")
	m.wrong("rows that lack columns", "release predict release.json --data lacking.csv")
	m.write("model.yaml", "intercept: 1\ncoefficients: {height: 1}\n")
	m.wrong("model of other columns", "simulate evaluate --set model=model.yaml")
	m.changed("schema.yaml", "oneclass.yaml", `["no", "yes"]`, `["yes"]`)
	m.wrong("class list of one", "simulate classify --train a.csv --schema oneclass.yaml")
	m.write("garbage.csv", "these,are\nno,records\n")
	m.wrong("records of something else", "simulate classify --train garbage.csv --schema schema.yaml")
	m.wrong("records of something else", "release predict release.json --data garbage.csv")
	m.wrong("release given as records", "release predict release.json --data release.json")
	m.wrong("records given as a release", "release show a.csv")
	m.wrong("records given as a schema", "simulate classify --train a.csv --schema a.csv")
	m.wrong("schema given as a study", "simulate schema.yaml")
	m.wrong("study given as a configuration", "agent run --config study.yaml")
	m.wrong("export to what there is not", "release export release.json --to excell --out x")
	m.wrong("simulated release that is verified", "release verify release.json --pool pool.csv")
	m.wrong("label that is not there", "dataset schema a.csv --label readmited")
	m.wrong("negative seed", "simulate classify --seed -1")
	m.wrong("condition on no column", "simulate classify --where 'agee > 60'")
	m.wrong("condition that is none", "simulate classify --where 'age >'")
	m.wrong("condition that nobody meets", "simulate classify --where 'age > 100'")
	m.found("column that nothing was found for", "agent map --schema schema.yaml --file lacking.csv", "not mapped")
	m.wrong("file that would be written over", "release report release.json --out release.json")
}

// machine interrupts a command, reads another account's file, and fills a disk.
func (m *mistakes) machine() {
	m.stopped("ctrl-C during a simulation", "simulate classify --repeats 100000 --out never.json")
	m.changed("release.json", "secret.json", "{", "{")
	m.forbidden("file of another account", "release show secret.json", "secret.json")
	m.full("full disk", "simulate classify --parties 3 --set generate=400 --out full/release.json")
	m.full("full disk", "coordinator init --dir full/coordinator --address 127.0.0.1:1")
}

// stopped interrupts a command.
func (m *mistakes) stopped(mistake, line string) {
	m.t.Helper()
	ctx, stop := context.WithCancel(m.ctx)
	defer stop()
	time.AfterFunc(time.Second, stop)
	before := m.ctx
	m.ctx = ctx
	m.wrong(mistake, line)
	m.ctx = before
}

// forbidden runs a command with the rights of another account. Root has all rights, so this thread
// gives its rights up.
func (m *mistakes) forbidden(mistake, line, file string) {
	m.t.Helper()
	if err := os.Chmod(file, 0); err != nil {
		m.t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() == 0 {
		const nobody = 65534
		_ = syscall.Setfsuid(nobody)
		defer syscall.Setfsuid(0)
	}
	m.wrong(mistake, line)
}

// full runs a command with a full disk at the folder full. Only root can make one; other accounts
// keep the table's row as it is.
func (m *mistakes) full(mistake, line string) {
	m.t.Helper()
	if err := os.MkdirAll("full", 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", "full", "tmpfs", 0, "size=4k"); err != nil {
		text, _ := os.ReadFile(m.golden)
		for row := range strings.Lines(string(text)) {
			if strings.HasPrefix(row, "| "+mistake+": `caucus "+line) {
				m.n++
				m.table.WriteString(row)
			}
		}
		return
	}
	defer syscall.Unmount("full", 0)
	m.wrong(mistake, line)
}

// studies makes mistakes in a study file, with a running coordinator.
func (m *mistakes) studies() {
	try := func(mistake, old, new string) {
		m.t.Helper()
		m.changed("study.yaml", "changed.yaml", old, new)
		m.wrong(mistake+": "+strings.TrimSpace(new), "study create changed.yaml --dry-run --force")
	}
	try("misspelt key", "epsilon: 1", "epsilom: 1")
	try("wrong value", "epsilon: 1", "epsilon: much")
	try("key given twice", "epsilon: 1", "epsilon: 1\nepsilon: 2")
	try("missing pool", "pool.csv", "pol.csv")
	try("pool without the columns", "pool.csv", "lacking.csv")
	m.changed("pool.csv", "twice.csv", "sex", "age")
	try("pool with a column twice", "pool.csv", "twice.csv")
	try("name that no study has", "name: ward", "name: Ward A")
	try("minimum above the parties", "minimum: 2", "minimum: 3")
	try("party that is named twice", "[a, b]", "[a, a]")
	try("condition that reads the label", "epsilon: 1",
		"mechanism: tally\nwhere: readmitted == yes")
	try("closing time that is over", "closes_in: 10m", "deadline: 2020-01-01T00:00:00Z")
}

// federation makes mistakes of operators and sites.
func (m *mistakes) federation(port, other string) {
	at := "127.0.0.1:" + port
	m.right("coordinator init --dir coordinator --address " + at + " --listen " + at)
	text, err := os.ReadFile("coordinator/coordinator.yaml")
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("coordinator/coordinator.yaml", string(text)+"\nlimits: {burst: 10000}\n")
	m.wrong("folder that is there already", "coordinator init --dir coordinator --address "+at)
	m.wrong("folder of another kind", "coordinator run --dir .")
	m.wrong("folder of another kind", "helper run --dir coordinator")
	m.wrong("coordinator that does not run", "party list --profile coordinator/operator.yaml")
	stop := m.daemon("coordinator run --dir coordinator")
	m.t.Setenv("CAUCUS_PROFILE", "coordinator/operator.yaml")
	m.eventually("party list")
	m.right("coordinator init --dir second --address " + at + " --listen " + at)
	m.wrong("port in use", "coordinator run --dir second")
	m.wrong("coordinator started twice", "coordinator run --dir coordinator")
	m.wrong("profile of another coordinator", "party list --profile second/operator.yaml")
	m.wrong("file that is no profile", "party list --profile a.yaml")
	m.wrong("missing profile", "party list --profile nobody.yaml")
	m.wrong("name with a space", "party invite 'hospital a'")
	m.wrong("agent that is not enrolled", "agent run --config a.yaml")
	for _, name := range []string{"a", "b", "c"} {
		m.right("party invite " + name + " --out " + name + ".invitation")
	}
	m.changed("a.yaml", "c.yaml", "state-a", "state-c")
	m.changed("a.yaml", "d.yaml", "state-a", "state-d")
	m.changed("a.yaml", "e.yaml", "state-a", "state-e")
	m.wrong("file of an invitation that is there already", "party invite c --out a.invitation")
	m.wrong("invitation that is good for too short a time", "party invite late --valid 1ms")
	m.right("party invite late --valid 1s --out late.invitation")
	late := time.Now().Add(1100 * time.Millisecond)
	m.right("party invite lost --address 127.0.0.1:" + other + " --out lost.invitation")
	m.wrong("wrong address", "agent enrol --config d.yaml --invitation lost.invitation")
	m.right("agent enrol --config a.yaml --invitation a.invitation")
	m.right("agent enrol --config b.yaml --invitation b.invitation")
	m.wrong("invitation used twice", "agent enrol --config c.yaml --invitation a.invitation")
	m.wrong("invitation of another party", "agent enrol --config a.yaml --invitation c.invitation")
	m.wrong("party that is enrolled already", "party invite a --out again.invitation")
	m.wrong("file that is no invitation", "agent enrol --config c.yaml --invitation schema.yaml")
	now = func() time.Time { return time.Now().AddDate(-2, 0, 0) }
	m.found("clock two years slow", "agent preview --config a.yaml", "note:")
	m.found("clock two years slow", "agent check --config a.yaml", "clock", "caucus:")
	now = nil
	m.wrong("source that does not exist", "agent source declare wards --yes --config a.yaml")
	m.right("agent source declare ward --yes --config a.yaml")
	m.right("agent source declare ward --yes --config b.yaml")
	m.changed("a.csv", "a.csv", ",", ", ")
	m.found("file changed after its import", "agent check --source ward --config a.yaml", "changed")
	m.studies()
	m.wrong("party that nobody invited", "study create study.yaml --force --name strangers --roster a,z")
	m.wrong("unknown study", "agent approve ward --config a.yaml")
	m.wrong("unknown study", "study show ward")
	m.right("study create study.yaml --force")
	m.wrong("study made twice", "study create study.yaml --force")
	m.wrong("draft approved", "agent approve ward --config a.yaml")
	m.right("study open ward")
	m.wrong("study opened twice", "study open ward")
	m.wrong("result before the release", "study result ward")
	m.found("preview", "agent preview ward --config a.yaml", "mechanism", "policy ")
	m.right("study create study.yaml --force --name costly --epsilon 2")
	m.right("study open costly")
	m.wrong("study that the policy refuses", "agent approve costly --config a.yaml")
	m.found("study that the policy refuses", "agent preview costly --config a.yaml", "policy ",
		"progress", "ε = 2 is")
	m.right("study pack costly --out costly.pack")
	m.wrong("study that the policy refuses", "agent answer costly.pack --out costly.answer --config a.yaml")
	m.wrong("study that the policy refuses", "agent approve costly --config a.yaml")
	m.wrong("too few at the close", "study close costly")
	m.stopped("ctrl-C during a wait", "study wait costly")
	m.wrong("wait that ends", "study wait costly --timeout 1500ms")
	m.right("agent approve ward --config a.yaml")
	m.wrong("study approved twice", "agent approve ward --config a.yaml")
	stopA := m.daemon("agent run --config a.yaml")
	stopB := m.daemon("agent run --config b.yaml")
	m.right("study wait ward --timeout 60s")
	m.right("study result ward --out signed.json")
	m.wrong("agent started twice", "agent run --config a.yaml")
	stopA()
	stopB()
	m.wrong("released study opened", "study open ward")
	m.wrong("released study closed", "study close ward")
	m.wrong("released study approved", "agent approve ward --config b.yaml")
	m.wrong("released study cancelled", "study cancel ward")
	m.wrong("released study extended", "study extend ward --closes-in 1h")
	m.wrong("tag of a party that does not exist", "party tag nobody region=north")
	m.wrong("tag that is none", "party tag a north")
	m.wrong("folder without a ledger", "ledger show --dir backup")
	m.wrong("invitation of an operator for an agent", "coordinator operator --invitation c.invitation --out c.operator")
	m.wrong("study under way carried to an agent that calls",
		"agent unpack costly.pack --config b.yaml")
	m.wrong("pack given as a release", "release show costly.pack")
	m.wrong("release given as a pack", "agent answer signed.json --out x.answer --config a.yaml")
	m.wrong("released study refused", "agent refuse ward --config a.yaml")
	m.wrong("release of another coordinator", "release verify signed.json --pool pool.csv --profile second/operator.yaml")
	m.wrong("release with another pool", "release verify signed.json --pool a.csv --config a.yaml")
	m.right("study create study.yaml --force --name more")
	m.right("study open more")
	m.wrong("budget that is spent", "agent approve more --config a.yaml")
	m.found("budget that is spent", "agent preview more --config a.yaml", "ledger", "policy ",
		"progress")
	m.right("party revoke b")
	m.found("party that was revoked", "agent preview --config b.yaml", "note:")
	m.found("party that was revoked", "agent check --config b.yaml", "coordinator", "caucus:")
	m.wrong("member that does not exist", "party revoke nobody")
	time.Sleep(time.Until(late))
	m.wrong("invitation that has expired", "agent enrol --config e.yaml --invitation late.invitation")
	m.right("coordinator backup --dir coordinator --out backup")
	m.wrong("backup to a folder that is there", "coordinator backup --dir coordinator --out backup")
	stop()
	m.wrong("restore to a folder that is there", "coordinator restore --from backup --dir coordinator")
	if err := os.Truncate("backup/ledger.db", 5000); err != nil {
		m.t.Fatal(err)
	}
	m.wrong("restore of a damaged backup", "coordinator restore --from backup --dir third")
	m.wrong("restore of no backup", "coordinator restore --from second --dir third")
	m.wrong("restore of a file", "coordinator restore --from a.csv --dir third")
}
