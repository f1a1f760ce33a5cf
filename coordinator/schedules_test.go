package coordinator

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// schedule lists the operations of a trial: what happens to a coordinator with two studies, one
// operation a line. Its text can be stored and replayed:
//
//	parties 3, head
//	open a
//	kill 1 after life.ContributionReceived
//	contribute p0 a
//	settle all
type schedule struct {
	parties int
	head    bool // the ledger's head is kept in a file
	budget  bool // the ledger has room for one study
	ending  bool // study a asks for one more than study b, and an amendment may change that
	kept    bool // study b keeps its bodies, and its parties added the noise
	lines   []string
}

func (s schedule) String() string {
	first := fmt.Sprintf("parties %d", s.parties)
	if s.head {
		first += ", head"
	}
	if s.budget {
		first += ", budget"
	}
	if s.kept {
		first += ", kept"
	}
	if s.ending {
		first += ", ending"
	}
	return first + "\n" + strings.Join(s.lines, "\n") + "\n"
}

// parseSchedule reads a schedule. Lines that begin with # are comments.
func parseSchedule(text string) (s schedule, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case line == "" || words[0] == "#":
		case words[0] == "parties" && s.parties == 0:
			_, err = fmt.Sscanf(line, "parties %d", &s.parties)
			s.head, s.budget, s.kept = strings.Contains(line, ", head"), strings.Contains(line,
				", budget"), strings.Contains(line, ", kept")
			s.ending = strings.Contains(line, ", ending")
		case operations[words[0]].do == nil:
			err = fmt.Errorf("line %q: no such operation", line)
		default:
			s.lines = append(s.lines, line)
		}
		if err != nil {
			return s, err
		}
	}
	if stages[scene{s.parties, s.kept, s.ending}] == nil {
		err = fmt.Errorf("%d parties: give 2, 3 or 4", s.parties)
	}
	return s, err
}

// operation is one kind of line: how to draw one at random, and what it does.
type operation struct {
	draw func(*rand.Rand, schedule) string // the words after the first
	do   func(*trial, []string)
}

// operations are the kinds of lines that a schedule may have, by their first word.
var operations = map[string]operation{
	"open":       {drawStudy, (*trial).open},
	"contribute": {func(r *rand.Rand, s schedule) string { return drawBoth(r, s) + pick(r, fates) }, (*trial).contribute},
	"together": {func(r *rand.Rand, s schedule) string {
		return drawStudy(r, s) + " " + drawParty(r, s) + pick(r, []string{"", " other"})
	}, (*trial).together},
	"other":   {drawBoth, (*trial).contributeOther},
	"decline": {drawBoth, (*trial).decline},
	"cancel":  {drawStudy, (*trial).cancel},
	"close":   {drawStudy, (*trial).closeStudy},
	"extend": {func(r *rand.Rand, s schedule) string {
		return drawStudy(r, s) + " " + pick(r, []string{"90m", "5h", "20h"}) + pick(r,
			[]string{"", "", " minimum 2", " share 0.5", " share 1"})
	}, (*trial).extend},
	"poll":   {drawParty, (*trial).poll},
	"waive":  {drawStudy, (*trial).waive},
	"revoke": {drawParty, (*trial).revoke},
	"enrol":  {func(r *rand.Rand, s schedule) string { return drawParty(r, s) + pick(r, fates[:2]) }, (*trial).enrol},
	"renew":  {func(r *rand.Rand, s schedule) string { return drawParty(r, s) + pick(r, fates[:2]) }, (*trial).renew},
	"look":   {drawNothing, (*trial).look},
	"clock": {func(r *rand.Rand, _ schedule) string {
		return pick(r, []string{"10m", "59m", "61m", "26h", "-10m", "-2h", "-26h"})
	}, (*trial).jump},
	"pass":    {func(r *rand.Rand, _ schedule) string { return pick(r, []string{"10m", "61m", "25h"}) }, (*trial).passTime},
	"vouch":   {drawNothing, (*trial).vouch},
	"backup":  {drawNothing, (*trial).backup},
	"restore": {func(r *rand.Rand, _ schedule) string { return fmt.Sprint(pick(r, restorable), " ", r.IntN(3)) }, (*trial).restore},
	"damage":  {drawBoth, (*trial).damage},
	"kill":    {func(r *rand.Rand, _ schedule) string { return fmt.Sprint(1+r.IntN(4), " ", pick(r, effects)) }, (*trial).killAt},
	"fail":    {func(r *rand.Rand, _ schedule) string { return fmt.Sprint(1+r.IntN(3), " ", pick(r, failing)) }, (*trial).failAt},
	"heal":    {drawNothing, (*trial).well},
	"away":    {drawNothing, (*trial).away},
	"restart": {drawNothing, (*trial).restart},
	"settle":  {drawNothing, (*trial).settle},
}

func drawNothing(*rand.Rand, schedule) string   { return "" }
func drawStudy(r *rand.Rand, _ schedule) string { return pick(r, []string{"a", "b"}) }
func drawParty(r *rand.Rand, s schedule) string { return fmt.Sprint("p", r.IntN(s.parties)) }
func drawBoth(r *rand.Rand, s schedule) string  { return drawParty(r, s) + " " + drawStudy(r, s) }

// fates are the ways in which a call can be lost, "" for none.
var fates = []string{"", " answer-lost", " request-lost", " cut"}

// draws is how often each operation is drawn, apart from the studies' own steps.
var draws = []string{
	"contribute", "contribute", "contribute", "together", "together", "other", "decline", "cancel", "waive", "revoke", "enrol", "enrol", "renew",
	"close", "extend", "extend", "look", "look", "poll", "poll", "clock", "clock", "pass", "vouch", "damage", "kill", "kill", "kill", "kill", "kill", "kill", "fail", "fail", "fail", "heal", "away", "restart",
}

// restorable are the things that can be restored: all but the head file, one of the two files, or
// all.
var restorable = []string{"folder", "folder", "store", "ledger", "all"}

// randomSchedule makes a seed's schedule: the steps of two studies, with faults in between.
func randomSchedule(seed uint64) schedule {
	r := rand.New(rand.NewPCG(seed, 0))
	s := schedule{parties: 2 + r.IntN(3), head: r.IntN(2) == 0, budget: r.IntN(4) == 0,
		kept: seed%3 == 0, ending: seed%4 == 1}
	for _, in := range []string{"a", "b"}[:1+r.IntN(2)] {
		at := 0
		add := func(line string) { // inserts the line somewhere after the line before
			at += r.IntN(len(s.lines) - at + 1)
			s.lines = slices.Insert(s.lines, at, line)
			at++
		}
		add("open " + in)
		for _, p := range r.Perm(s.parties) {
			if r.IntN(10) > 0 {
				add(fmt.Sprintf("contribute p%d %s%s", p, in, pick(r, append(fates, "", "", ""))))
			}
		}
		for _, p := range r.Perm(s.parties) {
			if r.IntN(3) > 0 {
				add(fmt.Sprint("poll p", p))
			}
		}
		add("look")
	}
	for range 1 + r.IntN(12) {
		what := pick(r, draws)
		line := strings.TrimSpace(what + " " + operations[what].draw(r, s))
		s.lines = slices.Insert(s.lines, r.IntN(len(s.lines)+1), line)
	}
	if seed%4 == 1 { // a study with an amendment, sometimes after it failed
		at := len(s.lines)/2 + r.IntN(len(s.lines)/2+1)
		for range 1 + r.IntN(3) {
			what := pick(r, []string{"close", "extend", "extend", "pass 61m", "look", "cancel"})
			if line := strings.TrimSpace(what); operations[strings.Fields(what)[0]].do != nil {
				if !strings.Contains(what, " ") {
					line = strings.TrimSpace(what + " " + operations[what].draw(r, s))
				}
				s.lines = slices.Insert(s.lines, at, line)
				at++
			}
		}
	}
	for i := len(s.lines) - 1; i >= 0; i-- { // faults matter most near folding and releasing
		if s.lines[i] == "look" && r.IntN(2) == 0 {
			what := pick(r, []string{"kill", "kill", "fail"})
			s.lines = slices.Insert(s.lines, i, what+" "+operations[what].draw(r, s))
		}
	}
	if r.IntN(3) == 0 { // backups, each with a later restore
		for range 1 + r.IntN(2) {
			at := r.IntN(len(s.lines) + 1)
			s.lines = slices.Insert(s.lines, at, "backup")
			if at += 1 + r.IntN(len(s.lines)-at); r.IntN(2) == 0 { // at the end
				for range s.parties {
					s.lines = append(s.lines, "poll "+drawParty(r, s))
				}
				at = len(s.lines)
			}
			s.lines = slices.Insert(s.lines, at, "restore "+operations["restore"].draw(r, s))
		}
	}
	s.lines = append(s.lines, "settle "+pick(r, []string{"all", "all", "none"}))
	return s
}

// play runs a trial through a schedule. It returns the first broken rule, nil if there is none.
func play(s schedule, t *trial, dir string) *violation {
	if t.budget = s.budget; s.head {
		t.keepHead(dir)
	}
	for _, line := range s.lines {
		words := strings.Fields(line)
		fmt.Fprintf(t.log, "-- %s\n", line)
		operations[words[0]].do(t, words[1:])
		if t.violation != nil {
			t.violation.detail += " (at: " + line + ")"
			return t.violation
		}
	}
	t.ended()
	return t.violation
}

// TestSchedules: random schedules of two studies, with kills at every effect, failing commits, lost
// requests and answers, clocks and revocations, break no rule (see trial). A schedule that breaks
// one is shrunk and printed, to be added to testdata/schedules. Together with those in testdata,
// the schedules reach every effect.
func TestSchedules(t *testing.T) {
	found, passed := search(t, 0, cases(t, 200, 10_000, 40), plant{}, inMemory)
	if found != nil {
		t.Fatalf("%s\n%s", found, found.log)
	}
	if raced { // few schedules reach few effects
		return
	}
	w := newWorker(t, plant{}, inMemory)
	defer w.disk.end()
	for _, s := range keptSchedules(t) {
		w.play(s, io.Discard)
	}
	maps.Copy(passed, w.passed)
	for effect := range passed {
		if !slices.Contains(effects, effect) {
			t.Errorf("no schedule kills at %q: add it to effects", effect)
		}
	}
	for _, effect := range effects {
		if !passed[effect] {
			t.Errorf("no schedule comes to %q", effect)
		}
	}
}

// TestSchedulesInFiles is TestSchedules with real files. After a kill, some data are only in the
// files' logs.
func TestSchedulesInFiles(t *testing.T) {
	if found, _ := search(t, 0, cases(t, 20, 300, 8), plant{}, inFiles); found != nil {
		t.Fatalf("%s\n%s", found, found.log)
	}
}

// TestScheduleRegressions: no rule is broken by the stored schedules, which once broke a rule or
// which find a planted bug.
func TestScheduleRegressions(t *testing.T) {
	for name, s := range keptSchedules(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorker(t, plant{}, inFiles)
			defer w.disk.end()
			var log strings.Builder
			if v := w.play(s, &log); v != nil {
				t.Errorf("%s: %s\n%s", v.rule, v.detail, &log)
			}
		})
	}
}

// keptSchedules are those of testdata/schedules, by name.
func keptSchedules(t *testing.T) map[string]schedule {
	files := must(filepath.Glob("testdata/schedules/*.txt"))
	if len(files) == 0 {
		t.Fatal("no schedules are kept")
	}
	kept := map[string]schedule{}
	for _, name := range files {
		kept[strings.TrimSuffix(filepath.Base(name), ".txt")] =
			must(parseSchedule(string(must(os.ReadFile(name)))))
	}
	return kept
}
