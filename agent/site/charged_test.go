package site_test

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/internal/testsite"
	"caucus/privacy"
	"caucus/study"
)

// TestReconcile: a ledger was restored to a state before a contribution. It charges nothing until
// it is reconciled. The reconciliation charges the lost entries once, and any cost that the
// operator names. The agent must be stopped.
func TestReconcile(t *testing.T) {
	ctx := t.Context()
	r := newSite(t, func(p *study.Proposal) {
		p.Mechanism, p.Noise = "tally", study.NoiseCoordinator
	})
	r.Enrol(t, time.Now())
	s := r.Open(t)
	d := r.StorePlan(t, s)
	task, err := s.Task(r.StudyPlan.Plan)
	if err != nil {
		t.Fatal(err)
	}
	charges, err := task.Charges(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(study.ChargeAll(ctx, s.Ledger, r.StudyPlan.Hash, charges),
		d.Write(site.FileUpload, []byte("sent")), s.StoreLedgerHead(ctx, d)); err != nil {
		t.Fatal(err)
	}
	reconciled := func(want int, others ...privacy.Cost) []site.LostCharge {
		t.Helper()
		lost, err := site.Reconcile(ctx, r.Config, others)
		if err != nil || len(lost) != want {
			t.Fatalf("lost %+v, %v, want %d studies", lost, err, want)
		}
		return lost
	}
	s.Close()
	reconciled(0)
	removeLedger(t, r.Config)
	if err := os.WriteFile(site.LedgerFile(r.Config), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Reconcile(ctx, r.Config, nil); err == nil {
		t.Error("an emptied file is taken for a ledger")
	}
	removeLedger(t, r.Config)
	older := newSite(t, nil) // the ledger of this site was never charged
	older.Open(t).Close()
	ledger, err := os.ReadFile(site.LedgerFile(older.Config))
	if err == nil {
		err = os.WriteFile(site.LedgerFile(r.Config), ledger, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := folder.LockForDaemon(r.Config.State, "an agent")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := site.Reconcile(ctx, r.Config, nil); err == nil ||
		!strings.Contains(err.Error(), "another agent") {
		t.Errorf("while an agent runs: %v", err)
	}
	unlock()
	if lost := reconciled(1); lost[0].Name != "illness" || lost[0].Study != r.StudyPlan.Hash ||
		lost[0].ResultLost || !lost[0].Costs[0].Equal(charges[0].Cost) {
		t.Errorf("lost %+v", lost)
	}
	reconciled(0)
	reconciled(0, privacy.PureCost(privacy.Record, 0, big.NewRat(1, 10)))
	s = r.Open(t)
	if totals, err := s.Ledger.Totals(ctx); err != nil || totals[privacy.Record].Charges != 2 {
		t.Errorf("%d charges, %v, want the study's and the one that was named",
			totals[privacy.Record].Charges, err)
	}
	if err := s.Ledger.Spend(ctx, "next",
		privacy.PureCost(privacy.Record, 0, big.NewRat(1, 10))); err != nil {
		t.Errorf("after the reconciliation: %v", err)
	}
}

// TestSpending: the remaining budget is stated for all time and for this year. The year is the
// later one of clock and ledger, so a clock that is set back gives no second budget for a year.
func TestSpending(t *testing.T) {
	ctx := t.Context()
	r := newSite(t, nil)
	now := time.Date(2031, 5, 1, 0, 0, 0, 0, time.UTC)
	r.Config.Clock.Now = func() time.Time { return now }
	r.Config.Policy.YearLimit =
		map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-5}}
	s := r.Open(t)
	half := privacy.PureCost(privacy.Record, 0, big.NewRat(1, 2))
	_, err := s.Ledger.BeginPeriod(ctx, "2031")
	if err := errors.Join(err, s.Ledger.Spend(ctx, "a", half)); err != nil {
		t.Fatal(err)
	}
	wants := func(when, year string, spent float64) {
		t.Helper()
		all, err := s.Spending(ctx)
		if err != nil || len(all) != 2 || all[0].Year != "" || all[1].Year != year ||
			all[0].Spent[privacy.Record].Epsilon(1e-5) != .5 ||
			all[1].Spent[privacy.Record].Epsilon(1e-5) != spent {
			t.Errorf("%s: %+v, %v", when, all, err)
		}
	}
	wants("in the year", "2031", .5)
	now = now.AddDate(-10, 0, 0)
	wants("a clock put back", "2031", .5)
	now = now.AddDate(11, 0, 0)
	wants("in the next year", "2032", 0)
	now = now.AddDate(-1, 0, 0)
	all, err := s.Spending(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if no := all[1].Objections([]privacy.Cost{half}); no != nil {
		t.Errorf("half is too much: %q", no)
	}
	if no := all[1].Objections([]privacy.Cost{half, half}); len(no) != 1 ||
		!strings.Contains(no[0], "left for 2031 at unit record") {
		t.Errorf("objections %q", no)
	}
	for _, test := range []struct {
		now  time.Time
		skew time.Duration
		want string
	}{
		{time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), -68 * 365 * 24 * time.Hour, ""},
		{time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC), 68 * 365 * 24 * time.Hour, ""},
		{time.Date(2030, 12, 31, 23, 30, 0, 0, time.UTC), time.Hour, "2030"},
		{time.Date(2031, 1, 1, 0, 30, 0, 0, time.UTC), -time.Hour, "2030"},
		{time.Date(2031, 1, 1, 0, 30, 0, 0, time.UTC), time.Minute, "2031"},
		{time.Date(2031, 1, 1, 0, 30, 0, 0, time.UTC), -time.Hour - time.Second, ""},
	} {
		if y := site.YearOf(test.now, test.skew); y != test.want {
			t.Errorf("at %v a coordinator %v ahead agrees on %q, want %q", test.now, test.skew, y, test.want)
		}
	}
}

// TestTakeUp: a day allows a number of new studies, and begins once, even if the clock is set back.
// A study that was taken up before is not new.
func TestTakeUp(t *testing.T) {
	r := newSite(t, nil)
	now := time.Date(2031, 3, 1, 23, 0, 0, 0, time.UTC)
	r.Config.Clock.Now = func() time.Time { return now }
	r.Config.Policy.StudiesADay = 2
	s := r.Open(t)
	takes := func(i byte, want bool) {
		t.Helper()
		h := study.Hash{i}
		if room, err := s.CountStudyToday(s.Studies.Folder(h), h); err != nil || room != want {
			t.Errorf("study %d: room %v, %v", i, room, err)
		}
	}
	takes(0, true)
	takes(1, true)
	takes(2, false)
	now = now.Add(-30 * time.Hour)
	takes(2, false)
	takes(1, true)
	now = now.Add(32 * time.Hour) // an hour into the next day
	takes(2, true)
	takes(3, true)
	write(t, s.Studies.Folder(study.Hash{4}), site.FileRecords)
	takes(4, true) // charged on another day
	takes(5, false)
	if err := os.WriteFile(filepath.Join(r.Config.State, "day.json"), []byte("{"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CountStudyToday(s.Studies.Folder(study.Hash{6}), study.Hash{6}); err == nil {
		t.Error("a damaged count is read")
	}
}

// chosen lets each party choose its classifier.
func chosen(p *study.Proposal) {
	p.Unit, p.Mechanism, p.Noise = privacy.Party, "tally", study.NoiseCoordinator
	p.KindTerms = []byte(`{"learner":"any"}`)
}

// TestCostOf: cost and window depend only on public numbers: the declared number of records, the
// plan, and the time that the site's own program may take. The time that it really takes has no
// effect.
func TestCostOf(t *testing.T) {
	r := newSite(t, nil)
	r.Config.MinWindow = time.Second
	s := r.Open(t)
	d := r.StorePlan(t, s)
	task, err := s.Task(r.StudyPlan.Plan)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.CostOf(task)
	if err != nil || c.Records != 61 || len(c.Charges) != 1 || len(c.Reserved) != 1 ||
		c.Window.Prepare < time.Second || c.Window.Total() <= c.Window.Prepare {
		t.Errorf("%+v, %v", c, err)
	}
	if err := d.Write(site.FileRecords, []byte("40\n")); err != nil {
		t.Fatal(err)
	}
	if c, err := s.CostOf(task); err != nil || c.Records != 40 {
		t.Errorf("charged for 40 records: %d, %v", c.Records, err)
	}
	s.Config.Policy.MaxTime = time.Millisecond
	if _, err := s.CostOf(task); err == nil || !strings.Contains(err.Error(), "the policy allows") {
		t.Errorf("a window that the policy does not allow: %v", err)
	}

	r = newSite(t, chosen)
	s = r.Open(t)
	r.StorePlan(t, s)
	if task, err = s.Task(r.StudyPlan.Plan); err != nil {
		t.Fatal(err)
	}
	built, err := s.CostOf(task)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Learner.Command, s.Config.Learner.Timeout = []string{os.Args[0]}, 20*time.Minute
	own, err := s.CostOf(task)
	if err != nil || own.Window.PerShard < 20*time.Minute ||
		own.Window.Prepare < own.Window.PerShard ||
		built.Window.PerShard >= own.Window.PerShard {
		t.Errorf("the window is %+v, %v; the program may take 20 minutes", own.Window, err)
	}
	if words, err := s.Config.SiteChoice(r.StudyPlan.Plan); err != nil ||
		!strings.Contains(words, "this site's own program") {
		t.Errorf("chosen %q, %v", words, err)
	}
}

// TestPrograms: the answers of a site's own program are passed on. If the program fails, only the
// site is told why, because the reason may contain a record, and logs may leave the machine.
func TestPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no /bin/sh
	}
	r := newSite(t, nil)
	s := r.Open(t)
	if s.Scorer(nil) != nil || s.Voter(nil).Vote != nil {
		t.Error("a site without a program has one")
	}
	var failed error
	note := func(err error) { failed = err }
	schema := r.StudyPlan.Plan.Schema
	records, err := s.Sources.AllRecords(r.StudyPlan.Plan)
	if err != nil {
		t.Fatal(err)
	}
	rows := mat.NewDense(2, schema.Dim(), nil)
	shell := func(line string) []string { return []string{"/bin/sh", "-c", line, "x"} }
	s.Config.Learner.Command = shell(`tail -n +2 "$2" | while read row; do echo yes; done`)
	votes, err := s.Voter(note).Vote(t.Context(), schema, records, rows)
	if err != nil || failed != nil || len(votes) != 2 || votes[0] != 1 {
		t.Errorf("votes %v, %v, %v", votes, err, failed)
	}
	s.Config.Scorer.Command = shell(`tail -n +2 "$1" | while read row; do echo 0.25; done`)
	scores, err := s.Scorer(note)(t.Context(), schema, rows)
	if err != nil || failed != nil || len(scores) != 2 || scores[1] != .25 {
		t.Errorf("scores %v, %v, %v", scores, err, failed)
	}
	s.Config.Learner.Command = shell(`echo ` + testsite.PlantedValue + ` >&2; exit 1`)
	s.Config.Scorer.Command = s.Config.Learner.Command
	if _, err := s.Voter(note).Vote(t.Context(), schema, records, rows); err == nil ||
		failed == nil {
		t.Error("a program that fails is not told of")
	}
	failed = nil
	if _, err := s.Scorer(note)(t.Context(), schema, rows); err == nil || failed == nil {
		t.Error("a program that fails is not told of")
	}
	s.StoreVoteFailure(r.StudyPlan.Hash, failed)
	if b, err := s.Studies.Folder(r.StudyPlan.Hash).Read(site.FileVoteFailure); err != nil ||
		!strings.Contains(string(b), testsite.PlantedValue) {
		t.Errorf("noted %q, %v", b, err)
	}
	if r.Log.Len() > 0 {
		t.Errorf("the log says %s", r.Log)
	}
	scored := newSite(t, func(p *study.Proposal) {
		p.Kind, p.Unit, p.Noise, p.Mechanism = "evaluate", privacy.Party, study.NoiseCoordinator,
			"laplace"
		p.KindTerms = []byte(`{"program":true,"per_party":100,"bins":4}`)
	}).StudyPlan.Plan
	if words, err := s.Config.SiteChoice(scored); err != nil || !site.SiteChooses(scored) ||
		!strings.Contains(words, "records are scored by") {
		t.Errorf("%q, %v", words, err)
	}
	s.Config.Scorer.Command = nil
	if _, err := s.Config.SiteChoice(scored); err == nil {
		t.Error("a site without a scorer takes part")
	}
}

// TestRecords: a study gets as many records as were declared, whatever the file contains.
// Deviations, or the reason for empty records, are noted for the site alone.
func TestRecords(t *testing.T) {
	r := newSite(t, nil)
	s := r.Open(t)
	h, p := r.StudyPlan.Hash, r.StudyPlan.Plan
	in := s.Records(h, p, 61, false)
	odd, err := s.Studies.Folder(h).Read(site.FileSourceRemarks)
	if in.Records.Len() != 61 || s.Studies.Folder(h).Has(site.FileReadFailure) {
		t.Errorf("%d records; odd %q, %v", in.Records.Len(), odd, err)
	}
	if err := os.Remove(r.Config.Data["ward"].File); err != nil {
		t.Fatal(err)
	}
	gone := s.Records(h, p, 61, false)
	if gone.Records.Len() != 61 || !s.Studies.Folder(h).Has(site.FileReadFailure) {
		t.Errorf("%d records of a file that is gone", gone.Records.Len())
	}
	empty := s.EmptyRecords(p, 61, false)
	if !mat.Equal(empty.Records.X, gone.Records.X) || mat.Equal(empty.Records.X, in.Records.X) {
		t.Error("a file that is gone gives other records than the empty ones")
	}
	if r.Log.Len() > 0 {
		t.Errorf("the log says %s", r.Log)
	}
}

// TestSpeed: the best measurement of the last seven days counts, also after restarts.
func TestSpeed(t *testing.T) {
	r := newSite(t, nil)
	s := r.Open(t)
	day := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	measure := func(after int, took time.Duration) {
		s.Speed.MeasureStep = func() time.Duration { return took }
		s.Speed.Measure(day.AddDate(0, 0, after))
	}
	measure(0, 3*time.Millisecond)
	measure(0, 2*time.Millisecond)
	measure(0, 9*time.Millisecond) // measured at a busy moment
	if got := r.Open(t).Speed.Step(); got != 2*time.Millisecond {
		t.Errorf("after a restart %v", got)
	}
	for after := 1; after <= 7; after++ {
		measure(after, 5*time.Millisecond)
	}
	if got := s.Speed.Step(); got != 5*time.Millisecond {
		t.Errorf("seven days later %v: a machine that became slower is not noticed", got)
	}
	if err := os.WriteFile(filepath.Join(r.Config.State, "speed.json"), []byte("x"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.Open(t).Speed.Step(); got < 1 {
		t.Errorf("with a damaged file %v", got)
	}
}

// TestAuditLines: each event is a line of JSON with its study, its party and the person who
// decided. After a line that a crash cut off, the next event begins on a new line. Without the log,
// nothing may happen.
func TestAuditLines(t *testing.T) {
	r := newSite(t, nil)
	file := site.AuditFile(r.Config)
	if err := os.WriteFile(file, []byte(`{"time":"2030`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.Open(t)
	if err := errors.Join(s.Audit.Record(site.AuditRefused, r.StudyPlan.Hash, "illness", "by",
		"bob"),
		s.Audit.RecordSource(site.AuditDeclared, "ward", "records", 61)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) != 4 || lines[0] != `{"time":"2030` ||
		!strings.Contains(lines[1], `"msg":"refused","party":"site","study":"`+r.StudyPlan.Hash.String()+`","name":"illness","by":"bob"`) ||
		!strings.Contains(lines[2], `"source":"ward","records":61`) {
		t.Errorf("%v:\n%s", err, text)
	}
	s.Audit.Close()
	if err := s.Audit.Record(site.AuditCharged, r.StudyPlan.Hash, "illness"); err == nil {
		t.Error("an event that was not written may happen")
	}
}

// TestWindowAtPatient: the window of a study at unit patient follows from the number of patients.
// It is as long for a patient of one record as for one of many, whom it has to hide.
func TestWindowAtPatient(t *testing.T) {
	const schema = testsite.SchemaYAML + "patient: nr\n"
	r := testsite.New(t.TempDir(), schema, func(p *study.Proposal) {
		p.Unit, p.Mechanism, p.Records = privacy.Patient, "cross", 30
	})
	if err := os.WriteFile(r.Config.Data["ward"].Schema, []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	visits := func(of int) string {
		var text strings.Builder
		text.WriteString("age,sex,ill,nr\n")
		for i := range 40 + of {
			fmt.Fprintf(&text, "%d,f,%s,%d\n", i%90, []string{"no", "yes"}[i%2], min(i, 39))
		}
		return text.String()
	}
	r.WriteFile(t, visits(0))
	r.Import(t)
	s := r.Open(t)
	r.StorePlan(t, s)
	task, err := s.Task(r.StudyPlan.Plan)
	if err != nil {
		t.Fatal(err)
	}
	few, err := s.CostOf(task)
	if err != nil {
		t.Fatal(err)
	}
	r.WriteFile(t, visits(5000))
	if err := r.Declare(); err != nil {
		t.Fatal(err)
	}
	many, err := s.CostOf(task)
	if err != nil || many.Records != 40 || many.Window != few.Window {
		t.Errorf("5000 records more of a patient: %+v, %v; before: %+v", many, err, few)
	}
}
