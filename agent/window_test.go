package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"caucus/agent/site"
	"caucus/aggregation"
	"caucus/learners"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// spoken holds an agent's messages to its coordinator, with their times.
type spoken struct {
	mu   sync.Mutex
	all  []string
	from time.Time
	// stop, if set, ends the agent two seconds after its contribution: the length of windows
	// depends on this machine, which may be busy.
	stop func()
}

// listening is a context that lasts until the agent has contributed and polled a few more times.
func (s *spoken) listening() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	s.stop = cancel
	return ctx, cancel
}

// heard is a link that notes every call.
type heard struct {
	*coordinatorDouble
	s *spoken
}

// heard makes an agent of the rig without random pauses, and the link that hears it.
func (r *rig) heard(t *testing.T) (*Agent, heard) {
	t.Helper()
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	a.preparation.hurry, a.jitter = false, func(d time.Duration) time.Duration { return d }
	h := heard{r.coordinatorDouble, &spoken{from: time.Now()}}
	a.link = h
	return a, h
}

func (h heard) note(what string) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.all = append(h.s.all, fmt.Sprint(time.Since(h.s.from), " ", what))
}

func (h heard) Studies(ctx context.Context) (protocol.Listing, error) {
	h.note("list")
	return h.coordinatorDouble.Studies(ctx)
}
func (h heard) Contribute(ctx context.Context, p study.Hash, body []byte) (protocol.Receipt,
	error) {
	h.note("contribute")
	if h.s.stop != nil {
		time.AfterFunc(2013*time.Millisecond, h.s.stop) // at no poll
	}
	return h.coordinatorDouble.Contribute(ctx, p, body)
}
func (h heard) Decline(ctx context.Context, p study.Hash) error {
	h.note("decline")
	return h.coordinatorDouble.Decline(ctx, p)
}

// TestTimeTellsNothing: for every learner and for sums, two sites with neighbouring records poll
// and contribute at exactly the same moments, however much longer one of them computes. A dishonest
// plan could make that time depend on one label. The test sets the clock, so that moments can be
// compared.
func TestTimeTellsNothing(t *testing.T) {
	proposals := map[string]func(*study.Proposal){"sums": nil, "shares": inShares("tally")}
	for _, l := range learners.Names() {
		proposals[l] = votes(l)
	}
	for name, propose := range proposals {
		t.Run(name, func(t *testing.T) {
			var first []string
			size := 0
			for _, takes := range []time.Duration{0, time.Millisecond, 300 * time.Millisecond,
				900 * time.Millisecond, time.Hour} {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					r := rigIn(dir, propose)
					r.Config.Poll = 150 * time.Millisecond
					r.Config.Policy.Learners = learners.Names()
					if name == "shares" {
						helper := r.agree()
						r.trust(helper.helper(), helper.signed())
					}
					a, h := r.heard(t)
					prepare := a.preparation.prepare
					a.preparation.prepare = func(ctx context.Context, w window) draft {
						made := prepare(ctx, w)
						a.clock.Sleep(ctx, takes)
						return made
					}
					ctx, cancel := h.s.listening()
					defer cancel()
					if err := a.Run(ctx); err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first, size = h.s.all, len(r.stored)
					}
					if name == "shares" && len(r.stored) != size {
						t.Errorf("records that take %v are sent in %d bytes, not in %d", takes, len(r.stored), size)
					}
					if !slices.Equal(h.s.all, first) {
						t.Errorf("records that take %v are heard at other times:\n%q\n%q", takes, h.s.all, first)
					}
					if n := strings.Count(strings.Join(h.s.all, " "), "contribute"); n != 1 ||
						len(r.stored) == 0 {
						t.Errorf("%v: %d contributions", takes, n)
					}
					d := a.site.Studies.Folder(r.hash)
					if late := takes > time.Minute; d.Has(site.FileMissedWindow) != late {
						t.Errorf("%v: late %v, want %v", takes, d.Has(site.FileMissedWindow), late)
					}
				})
			}
		})
	}
}

// TestLateShard: each shard has its own time. A late shard is a constant ballot and moves no other
// ballot; only the site is told.
func TestLateShard(t *testing.T) {
	r := newRig(t, func(p *study.Proposal) { votes("softmax")(p); p.KindTerms = []byte(`{"shards":4,"learner":"softmax"}`) })
	a := r.agent(t)
	if _, err := r.Pool(context.Background(), r.study, a.site.PoolsDir); err != nil {
		t.Fatal(err)
	}
	task, err := a.site.Task(r.study.Plan)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[int][]int64{}
	for slow := range 5 { // 4: none
		w := window{task: task, study: r.hash, records: 60}
		var l late
		in := a.site.Records(r.hash, r.study.Plan, w.records, false)
		shard := 0
		in.TimeLimit = func() (context.Context, func(bool)) {
			length := time.Hour
			if shard == slow {
				length = -1
			}
			shard++
			return l.within(context.Background(), length)()
		}
		d, err := task.Contribute(in)
		if err != nil {
			t.Fatal(err)
		}
		w.made = draft{Contribution: d, late: l.String()}
		if want := slow < 4; (w.made.late != "") != want {
			t.Errorf("shard %d late: told %q", slow, w.made.late)
		}
		body, err := settle(context.Background(), a.site, w)
		if err != nil {
			t.Fatal(err)
		}
		tally, err := aggregation.ParseTally(numbersOf(body), task.Pool().Rows(), 2, 4)
		if err != nil || tally.Ballots() != 4 {
			t.Fatalf("shard %d late: %v, want 4 ballots", slow, err)
		}
		bodies[slow] = tally.Vector()
	}
	for slow := range 4 {
		for i, v := range bodies[slow] { // votes for class 1 of two
			if d := bodies[4][i] - v; d < 0 || d > 1 {
				t.Fatalf("shard %d late: row %d has %d votes of %d, want at most one less", slow, i, v, bodies[4][i])
			}
		}
	}
}

// TestWindowsFollow: studies are prepared one at a time, each in a window fixed after the previous
// upload has left, whenever the previous work was done; no poll comes in a window.
func TestWindowsFollow(t *testing.T) {
	var first []string
	for _, takes := range []time.Duration{0, 3 * time.Second, time.Hour} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := rigIn(dir, nil)
			r.Config.Poll = 4 * time.Second
			a, h := r.heard(t)
			a.preparation.prepare = func(ctx context.Context, w window) draft {
				h.note("read")
				a.clock.Sleep(ctx, takes)
				return draft{}
			}
			if err := a.PollOnce(context.Background()); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				w := a.preparation.queue[0]
				w.span = site.WindowTimes{Prepare: 5 * time.Second, DrawNoise: time.Second}
				a.preparation.queue[i] = w
				if i < 2 {
					a.preparation.queue = append(a.preparation.queue, w)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
			defer cancel()
			for ctx.Err() == nil { // as Run does
				a.prepareUntilPoll(ctx, a.site.Config.Poll)
				if err := a.PollOnce(ctx); err != nil && ctx.Err() == nil {
					t.Fatal(err)
				}
			}
			a.Close()
			if first == nil {
				first = h.s.all
				want := []string{"0s list", "0s read", "6s contribute", "6s list", "6s read",
					"12s contribute", "12s list", "12s read", "18s contribute", "18s list",
					"22s list", "25s list"}
				if !slices.Equal(first, want) {
					t.Errorf("heard %q, want %q", first, want)
				}
			}
			if !slices.Equal(h.s.all, first) {
				t.Errorf("work of %v is heard at other times: %q and %q", takes, h.s.all, first)
			}
		})
	}
}

// TestOneTask: a study's contribution is made by the task that was charged, shown by removing the
// pool meanwhile; a queue holds one task.
func TestOneTask(t *testing.T) {
	r := newRig(t, nil)
	var pool string
	r.Config.Checkpoint = func(effect string) {
		if effect == "charged" {
			if err := os.Remove(pool); err != nil {
				t.Error(err)
			}
		}
	}
	a := r.agent(t)
	pool = a.site.PoolFile(r.study.Plan.Pool)
	round(t, a)
	if len(r.bodies) != 1 {
		t.Errorf("%d uploads, want 1; log:\n%s", len(r.bodies), r.Log)
	}

	a = newRig(t, nil).agent(t)
	a.preparation.queue = []window{{}}
	if err := a.PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if queue := a.preparation.queue; len(queue) != 2 || queue[1].task != nil {
		t.Errorf("%d studies wait, the second with a task: %t", len(queue), len(queue) == 2)
	}
}

// TestNewTimeAfterCrash: an agent that died while it read the records fixes a new moment before it
// reads them again.
func TestNewTimeAfterCrash(t *testing.T) {
	r := newRig(t, nil)
	read := func(a *Agent) site.Schedule {
		var d site.Schedule
		b, err := a.site.Studies.Folder(r.hash).Read(site.FileSchedule)
		if err := errors.Join(err, json.Unmarshal(b, &d)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	a.preparation.prepare = func(ctx context.Context, _ window) draft {
		<-ctx.Done()
		return draft{}
	}
	if err := a.PollOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	a.SendCharged(ctx)
	before := read(a)
	a.Close()
	a = r.agent(t)
	prepare := a.preparation.prepare
	a.preparation.prepare = func(ctx context.Context, w window) draft {
		if again := read(a); !again.WindowEnd.After(before.WindowEnd) {
			t.Errorf("after the crash the time is %v, it was %v", again, before)
		}
		return prepare(ctx, w)
	}
	round(t, a)
	if n := charges(t, a, privacy.Record); n != 1 || len(r.bodies) != 1 {
		t.Errorf("%d charges, %d uploads, want 1 and 1", n, len(r.bodies))
	}
}

// TestPanicIsLate: records that make the code panic give a constant, at its moment.
func TestPanicIsLate(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	a.preparation.hurry = false
	a.preparation.prepare = func(context.Context, window) draft { panic(planted) }
	begun := time.Now()
	round(t, a)
	if took := time.Since(begun); took < leastWindow {
		t.Errorf("sent after %v", took)
	}
	what, lines := decisions(t, r.Config)
	if len(r.bodies) != 1 || lines[len(lines)-1]["late"] == nil ||
		bytes.Contains(r.Log.Bytes(), []byte(planted)) {
		t.Errorf("%d uploads, audit %v %v, log:\n%s", len(r.bodies), what, lines, r.Log)
	}
	review, _, err := a.Preview(context.Background(), "illness")
	if err != nil || !slices.ContainsFunc(review.Problems, func(p string) bool {
		return strings.Contains(p, "not ready in time")
	}) {
		t.Errorf("the review does not say so: %v, %q", err, review.Problems)
	}
	if _, err := os.Stat(filepath.Join(r.Config.State, "studies", r.hash.String(),
		site.FileMissedWindow)); err != nil {
		t.Error(err)
	}
}

// asked is a link that calls asks before each upload.
type asked struct {
	*coordinatorDouble
	asks func()
}

func (a asked) Contribute(
	ctx context.Context, p study.Hash, body []byte,
) (protocol.Receipt, error) {
	a.asks()
	return a.coordinatorDouble.Contribute(ctx, p, body)
}

// TestFlawsAreTold: before an upload leaves, and in the number of lines that are on the disk before
// the agent goes on, the audit log of a late contribution, or of one with empty records, is that of
// any other. So is the log before the upload. After it, both logs tell the flaw.
func TestFlawsAreTold(t *testing.T) {
	var before []string
	lines := 0
	for _, flaw := range []string{"", "late", "unread"} {
		t.Run("flaw "+flaw, func(t *testing.T) {
			r := newRig(t, nil)
			a := r.agent(t)
			switch flaw {
			case "late":
				a.preparation.prepare = func(context.Context, window) draft {
					return draft{late: "all of it"}
				}
			case "unread":
				err := os.WriteFile(r.Config.Data["ward"].File, []byte("no such table"), 0o600)
				if err != nil {
					t.Fatal(err)
				}
			}
			said := func() []string {
				what, _ := decisions(t, r.Config)
				for line := range strings.Lines(changing.ReplaceAllString(r.Log.String(), "")) {
					what = append(what, line)
				}
				return what
			}
			var told []string
			a.link = asked{r.coordinatorDouble, func() { told = said() }}
			round(t, a)
			what, audit := decisions(t, r.Config)
			if flaw == "" {
				before, lines = told, len(what)
			}
			if !slices.Equal(told, before) {
				t.Errorf("before the upload the logs say\n%q\nwant\n%q", told, before)
			}
			if len(what) != lines {
				t.Errorf("the audit log has the lines %q, want %d", what, lines)
			}
			receipt := audit[len(audit)-1]
			if receipt["msg"] != site.AuditReceipt {
				t.Fatalf("the last line is %v", receipt)
			}
			for _, key := range []string{"late", "unread"} {
				if has := receipt[key] != nil; has != (key == flaw) {
					t.Errorf("the receipt's line has %s: %v", key, has)
				}
			}
			if logged := strings.Contains(r.Log.String(), "level=ERROR"); logged != (flaw != "") {
				t.Errorf("the log tells of a flaw: %v", logged)
			}
		})
	}
}

// TestHostilePlan: a dishonest coordinator chooses a plan under which one patient's label decides
// whether a nearest-neighbour classifier asks one neighbour or 25, and so how long the votes take.
// Both neighbouring sites get the same time, neither is heard before its end, and both cost the
// same.
func TestHostilePlan(t *testing.T) {
	const n = 160
	siteOf := func(labels []int) *rig {
		r := newRig(t, func(p *study.Proposal) { votes("knn")(p); p.Records = n })
		r.Config.Policy.Learners = []string{"knn"}
		text := "age,sex,ill\n"
		for i, y := range labels {
			// Women come in pairs of one age and label, best predicted by one neighbour; some men
			// are ill at random, best predicted by many.
			age, sex := float64(i/2)*2.5, "f"
			if i >= 40 {
				age, sex = float64(i-40)*0.8, "m"
			}
			text += fmt.Sprintf("%g,%s,%s\n", age, sex, []string{"no", "yes"}[y])
		}
		r.WriteFile(t, text)
		if err := r.Declare(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	labels := make([]int, n)
	r := siteOf(labels)
	a := r.agent(t)
	x := r.study.Plan.Map.Apply(a.site.Records(r.hash, r.study.Plan, n, false).Records.X)
	asks := func() int {
		m, err := learners.KNN{}.Fit(context.Background(), x, labels, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m.(*learners.NeighboursModel).K()
	}
	var files [2][]int
	for seed := uint64(0); files[1] == nil; seed++ {
		if seed == 300 {
			t.Fatal("no such label was found")
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		clear(labels)
		for i := range 20 {
			labels[2*i] = rng.IntN(2)
			labels[2*i+1] = labels[2*i]
		}
		for _, i := range rng.Perm(n - 40) {
			before := slices.Clone(labels)
			labels[40+i] = 1
			k := asks()
			if k == 25 { // one label less, and it was 1
				files = [2][]int{before, slices.Clone(labels)}
			}
			if k != 1 {
				break
			}
		}
	}
	var lengths [2]time.Duration
	for i, labels := range files {
		s := siteOf(labels)
		a := s.agent(t)
		a.preparation.hurry = false
		// the same machine speed for both
		a.site.Speed.MeasureStep = func() time.Duration { return 2 * time.Millisecond }
		a.site.Speed.Measure(time.Now())
		round(t, a)
		heard := time.Now()
		var fixed site.Schedule
		b, err := a.site.Studies.Folder(s.hash).Read(site.FileSchedule)
		if err := errors.Join(err, json.Unmarshal(b, &fixed)); err != nil {
			t.Fatal(err)
		}
		lengths[i] = fixed.UploadAt.Sub(fixed.WindowStart)
		if heard.Before(fixed.UploadAt) {
			t.Errorf("neighbour %d was heard %v before its time", i, fixed.UploadAt.Sub(heard))
		}
		if n := charges(t, a, privacy.Record); n != 1 || len(s.bodies) != 1 {
			t.Errorf("neighbour %d: %d charges, %d uploads, want 1 and 1", i, n, len(s.bodies))
		}
	}
	if lengths[0] != lengths[1] || lengths[0] < leastWindow {
		t.Errorf("one neighbour is given %v, the other %v", lengths[0], lengths[1])
	}
}

// TestEarly: after a restart an upload waits for its moment, and a clock that is set back delays it
// no further.
func TestEarly(t *testing.T) {
	d := site.StudyFolder{Dir: t.TempDir()}
	from := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if d.TooEarly(from) {
		t.Error("what has no time is early")
	}
	if err := d.WriteJSON(site.FileSchedule,
		site.Schedule{WindowStart: from, WindowEnd: from.Add(time.Second),
			UploadAt: from.Add(2 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]bool{-time.Hour: false, time.Millisecond: true,
		1500 * time.Millisecond: true, 2 * time.Second: false, time.Hour: false} {
		if got := d.TooEarly(from.Add(after)); got != want {
			t.Errorf("%v after its beginning: early %v, want %v", after, got, want)
		}
	}
}

// TestKilledBeforeItsMoment: an upload stored when the agent died leaves at the fixed moment, or
// with the first poll after it: not with the first poll after the restart.
func TestKilledBeforeItsMoment(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := rigIn(dir, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.Config.Checkpoint = func(effect string) {
			if effect == "upload stored" {
				cancel()
			}
		}
		a, _ := r.heard(t)
		if err := a.PollOnce(ctx); err != nil {
			t.Fatal(err)
		}
		a.SendCharged(ctx)
		var fixed site.Schedule
		d := a.site.Studies.Folder(r.hash)
		b, err := d.Read(site.FileSchedule)
		if err := errors.Join(err, json.Unmarshal(b, &fixed), a.Close()); err != nil {
			t.Fatal(err)
		}
		if !d.Has(site.FileUpload) || len(r.bodies) > 0 || !time.Now().Before(fixed.UploadAt) {
			t.Fatalf("it was to die with an upload, before %v; %d were sent", fixed.UploadAt, len(r.bodies))
		}
		r.Config.Checkpoint, r.Config.Poll = nil, 10*time.Millisecond
		a, h := r.heard(t)
		ctx, cancel = h.s.listening()
		defer cancel()
		begun := h.s.from
		if err := a.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for _, said := range h.s.all {
			after, what, _ := strings.Cut(said, " ")
			if at, err := time.ParseDuration(after); err != nil || what == "contribute" &&
				begun.Add(at).Before(fixed.UploadAt) {
				t.Errorf("%q is before %v, which was fixed, or %v", said, fixed.UploadAt.Sub(begun),
					err)
			}
		}
		if len(r.bodies) != 1 {
			t.Errorf("%d uploads, want 1", len(r.bodies))
		}
	})
}

// TestDeclaredAnewAfterTheCharge: after a crash the charged number of records is prepared, whatever
// a person declares in between.
func TestDeclaredAnewAfterTheCharge(t *testing.T) {
	r := newRig(t, func(p *study.Proposal) {
		p.Kind, p.Mechanism, p.Unit, p.Delta = "labels", "rr", privacy.Label, nil
	})
	r.Config.Policy.Kinds, r.Config.Policy.Mechanisms = []string{"labels"}, []string{"rr"}
	r.Config.Policy.StudyLimit = map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: 5}}
	r.Config.Policy.TotalLimit =
		map[privacy.Unit]privacy.Budget{privacy.Label: {Epsilon: 9, Delta: 1e-5}}
	r.Config.Policy.ClearColumns = r.study.Plan.Schema.FeatureColumns()
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	a.preparation.prepare = func(ctx context.Context, _ window) draft {
		<-ctx.Done()
		return draft{}
	}
	if err := a.PollOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	a.Close() // killed after the charge
	text, err := os.ReadFile(r.Config.Data["ward"].File)
	if err != nil {
		t.Fatal(err)
	}
	r.WriteFile(t, string(text)+strings.Repeat("33,f,yes\n", 40))
	if err := r.Declare(); err != nil {
		t.Fatal(err)
	}
	a = r.agent(t)
	round(t, a)
	if n := charges(t, a, privacy.Label); n != 1 || len(r.bodies) != 1 {
		t.Fatalf("%d charges, %d uploads, want 1 and 1; log:\n%s", n, len(r.bodies), r.Log)
	}
	if n, _ := binary.Uvarint(r.stored); n != 61 {
		t.Errorf("%d records were sent, 61 were declared when the study was charged", n)
	}
}

func votes(learner string) func(*study.Proposal) {
	return func(p *study.Proposal) {
		p.Mechanism, p.Noise = "tally", study.NoiseCoordinator
		p.KindTerms = fmt.Appendf(nil, `{"learner":%q}`, learner)
	}
}
