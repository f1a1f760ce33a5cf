package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	aggregators "caucus/aggregator"
	"caucus/aggregator/uploading"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"caucus/aggregator/helper"
	"caucus/auxdata"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

// sharedWorld is a coordinator and a helper that share nothing, connected by mutual TLS on
// loopback.
type sharedWorld struct {
	*world
	helper  helper.Config
	stopped func() // stops the helper; nil if it does not run
	pool    []byte
	plan    study.Plan
	task    study.Task
}

func newSharedWorld(t testing.TB, parties int, change func(*study.Plan)) *sharedWorld {
	t.Helper()
	w := &sharedWorld{}
	dir := filepath.Join(t.TempDir(), "helper")
	pins := must(helper.Init(helper.InitOptions{Dir: dir, Listen: "127.0.0.1:0"}))
	w.helper = must(helper.LoadConfig(dir))
	w.helper.Listen = "127.0.0.1:" + must(testlevel.FreePort())
	w.helper.Policy.Study[privacy.Party] = privacy.Budget{Epsilon: 8, Delta: 1e-6}
	w.helper.Policy.MinimumParties = 2
	w.world = newWorldIn(t, nil, nil)
	w.stop() // add a helper first, and then PostgreSQL
	must(0, w.startHelperFor(must(folder.MakeHelper(w.config.Dir, "", "")).Key))
	report := must(folder.MakeHelper(w.config.Dir, w.helper.Listen, pins.Signing.String()))
	w.config.Helper, w.config.Metrics = *report.Helper, "127.0.0.1:0"
	if store != nil {
		w.config.Store = store(t)
		must(folder.MoveToPostgreSQL(context.Background(), w.config.Dir, w.config.Store))
	}
	w.start()
	w.operator.Close()
	w.operator = w.dial(must(protocol.LoadIdentity(filepath.Join(w.config.Dir,
		folder.OperatorFile))))
	t.Cleanup(w.stopHelper)

	roster := names(parties)
	for _, p := range roster {
		w.enrol(string(p))
	}
	w.pool = poolOf(30)
	p := planOf(roster, w.pool, w.clock.Now().Add(time.Hour))
	if p.Noise = study.NoiseAggregators; change != nil {
		change(&p)
	}
	if parties == 0 { // the caller makes its own study
		return w
	}
	w.plan = withTerms(p, w.pool)
	w.task = must(newStudyChecker(w.plan, w.pool)).task
	return w
}

func (sw *sharedWorld) startHelperFor(key protocol.SignerKey) error {
	sw.helper.Coordinator = key
	return sw.startHelper()
}

func (sw *sharedWorld) startHelper() error {
	sw.helper.Log = slog.New(slog.NewJSONHandler(sw.log, nil))
	s, err := helper.New(sw.helper)
	if err != nil {
		return err
	}
	sw.helper.Listen = s.Addr() // the same address after a restart
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	sw.stopped = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			sw.t.Errorf("helper: %v", err)
		}
	})
	return nil
}

func (sw *sharedWorld) stopHelper() {
	if sw.stopped != nil {
		sw.stopped()
	}
}

// uploads are the parties' contributions, sealed to the helper as its acceptance says.
func (sw *sharedWorld) uploads(s protocol.Study) (all [][]byte) {
	sw.t.Helper()
	pins := must(helper.ReadPins(sw.helper))
	sealing := must(uploading.CheckAcceptance(sw.task, s.Helper,
		uploading.Pins{Signing: pins.Signing, Sealing: pins.Sealing}, sw.server.signer.Key()))
	for i, p := range sw.plan.Roster {
		all = append(all, must(uploading.Contribute(sw.task, p, inputs(sw.task, i), sealing)))
	}
	return all
}

// inputs are a party's records.
func inputs(task study.Task, i int) study.Inputs {
	r := rand.New(rand.NewPCG(7, uint64(i)))
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for range 20 {
		fmt.Fprintf(&text, "%g,%g,%s\n", 10*r.Float64(), r.Float64(),
			[]string{"no", "yes"}[r.IntN(2)])
	}
	encoded, _, err :=
		task.Plan().Schema.EncodeLabelled(must(dataset.ReadCSV(strings.NewReader(text.String()),
			dataset.Format{})))
	must(0, err)
	return study.NewInputs(encoded, fmt.Append(nil, i))
}

// opened is the study as parties see it.
func (sw *sharedWorld) opened() protocol.Study {
	sw.t.Helper()
	sw.world.open(sw.plan, sw.pool)
	return must(sw.parties["p0"].Study(context.Background(), sw.plan.Name))
}

// verified returns the release after checking that no part of it fails.
func (sw *sharedWorld) verified() study.Release {
	sw.t.Helper()
	r := must(sw.operator.Release(context.Background(), sw.plan.Name))
	pins := must(helper.ReadPins(sw.helper))
	for _, f := range verify.Release(r,
		verify.VerifierInputs{Pool: poolUnder(sw.plan, sw.pool), Keys: &sw.server.keys,
			KeysFrom: "test",
			Helper:   &pins.Signing, HelperFrom: "test"}) {
		if f.Verdict == evidence.Fails {
			sw.t.Errorf("%s: %s", f.Subject, f.Text)
		}
	}
	return r.Release
}

func poolUnder(p study.Plan, data []byte) *auxdata.Pool {
	pool, _, err := auxdata.New(p.Schema, p.Map, must(auxdata.ReadCSV(data, p.Pool)))
	must(0, err)
	return pool
}

// TestShared: a study with two servers from draft to release. The helper agrees before the study
// opens. Contributions that do not check are refused by both servers and named. One release carries
// both servers' shares and signatures, and verify adds the shares up.
func TestShared(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 4, nil)
	s := w.opened()
	all := w.uploads(s)
	all[2][40] ^= 1 // this party's proof does not fit its share
	for i, p := range w.plan.Roster {
		receipt := must(w.parties[string(p)].Contribute(ctx, s.Hash, all[i]))
		again := must(w.parties[string(p)].Contribute(ctx, s.Hash, all[i]))
		if string(receipt.Document) != string(again.Document) {
			t.Errorf("%s got two receipts", p)
		}
	}
	w.wait("trial", study.Released)
	r := w.verified()
	if fmt.Sprint(r.Contributed, r.Missing, r.Aggregated.Refused) != "[p0 p1 p3] [p2] [p2]" {
		t.Errorf("contributed %v, missing %v, refused %v", r.Contributed, r.Missing,
			r.Aggregated.Refused)
	}
	if known := must(uploading.UploadDigest("p3", all[3])); r.Aggregated.Members[2] != known {
		t.Errorf("p3 sent %s, the set has %s", known, r.Aggregated.Members[2])
	}
	if bodies, sums := w.stored(); bodies != 0 || sums != 0 {
		t.Errorf("of a study that is over %d bodies and %d sums are stored", bodies, sums)
	}
	if n := must(privacy.JournalHead(ctx, w.server.scheduler.releaser.journal)).Sequence; n != 1 {
		t.Errorf("the coordinator's ledger has %d entries", n)
	}
	if _, err := w.parties["p0"].Contribute(ctx, s.Hash, []byte("else")); !errors.Is(err,
		study.ErrDifferentUpload) {
		t.Errorf("another contribution after the release: %v", err)
	}
}

// TestSharedLeaves: if any part of what a release says about its two servers is changed, the
// release does not verify.
func TestSharedLeaves(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	s := w.opened()
	all := w.uploads(s)
	all[2][40] ^= 1
	for i, p := range w.plan.Roster {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, all[i]))
	}
	w.wait("trial", study.Released)
	good := w.verified()
	pool := poolUnder(w.plan, w.pool)
	fails := func(what string, change func(r *study.Release)) {
		t.Helper()
		r := good
		a := *good.Aggregated
		a.Members, a.Refused = slices.Clone(a.Members), slices.Clone(a.Refused)
		r.Published = slices.Clone(r.Published)
		r.Aggregated = &a
		change(&r)
		if !evidence.AnyFails(verify.CheckClaims(r, pool)) {
			t.Errorf("%s: it verifies", what)
		}
	}
	flip := func(b []byte) []byte {
		b = slices.Clone(b)
		b[len(b)/2] ^= 1
		return b
	}
	for i := range 2 {
		fails("an acceptance", func(r *study.Release) {
			r.Aggregated.Acceptances[i].Document = flip(r.Aggregated.Acceptances[i].Document)
		})
		fails("an acceptance's signature", func(r *study.Release) {
			r.Aggregated.Acceptances[i].Signature = flip(r.Aggregated.Acceptances[i].Signature)
		})
		fails("a set's signature", func(r *study.Release) {
			r.Aggregated.Sets[i] = flip(r.Aggregated.Sets[i])
		})
		fails("a share's signature", func(r *study.Release) {
			r.Aggregated.Shares[i] = flip(r.Aggregated.Shares[i])
		})
		fails("a share", func(r *study.Release) { r.Published[i] = flip(r.Published[i]) })
		fails("a key", func(r *study.Release) {
			r.Aggregated.Keys[i] = strings.ToUpper(r.Aggregated.Keys[i])
		})
		fails("one server twice", func(r *study.Release) {
			r.Published[i], r.Aggregated.Shares[i] = r.Published[1-i], r.Aggregated.Shares[1-i]
		})
	}
	fails("another line of the helper's", func(r *study.Release) {
		r.Aggregated.HelperLine = &r.Ledger[0]
	})
	fails("another step", func(r *study.Release) { r.Aggregated.Step++ })
	fails("no line", func(r *study.Release) { r.Aggregated.HelperLine, r.Aggregated.Step = nil, 0 })
	fails("the set", func(r *study.Release) { r.Aggregated.Set = flip(r.Aggregated.Set) })
	fails("a member", func(r *study.Release) { r.Aggregated.Members[0][3] ^= 1 })
	fails("members in another order", func(r *study.Release) {
		slices.Reverse(r.Aggregated.Members)
	})
	fails("a member less", func(r *study.Release) {
		r.Aggregated.Members = r.Aggregated.Members[1:]
	})
	fails("somebody refused who contributed", func(r *study.Release) {
		r.Aggregated.Refused = []study.PartyID{"p0"}
	})
	fails("somebody refused twice", func(r *study.Release) {
		r.Aggregated.Refused = []study.PartyID{"p2", "p2"}
	})
	fails("nothing of the servers", func(r *study.Release) { r.Aggregated = nil })
	fails("one publication", func(r *study.Release) { r.Published = r.Published[:1] })
	fails("another party", func(r *study.Release) {
		r.Contributed, r.Missing = []study.PartyID{"p0", "p2"}, []study.PartyID{"p1"}
	})
	// A helper other than the pinned one.
	other := must(protocol.NewSigner()).Key()
	signed := must(w.operator.Release(ctx, "trial"))
	if !evidence.AnyFails(verify.Release(signed,
		verify.VerifierInputs{Pool: pool, Helper: &other})) {
		t.Error("a helper that nobody pinned: it verifies")
	}
}

// TestSharedForm: a stored release with two servers, in this form, still verifies.
func TestSharedForm(t *testing.T) {
	var r study.Release
	must(0, json.Unmarshal(must(os.ReadFile(fmt.Sprintf("testdata/releases/form%d.json",
		study.ManifestForm))), &r))
	if found := verify.CheckClaims(r,
		poolUnder(must(r.DecodedPlan()), poolOf(30))); evidence.AnyFails(found) {
		t.Error(found)
	}
}

// TestHelperDown: without its helper, a study stays a draft, and a sealed one waits. Both show the
// reason, and both go on by themselves once the helper runs. A kill of either server loses nothing.
func TestHelperDown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	reach := func(want string) {
		t.Helper()
		says := "# HELP caucus_helper_out_of_reach 1 where the helper does not answer what it is asked; not there where none is named.\n# TYPE caucus_helper_out_of_reach gauge\ncaucus_helper_out_of_reach " + want + "\n"
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			err := testutil.GatherAndCompare(w.server.counts.Registry, strings.NewReader(says),
				"caucus_helper_out_of_reach")
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
			w.clock.add(probeEvery)
		}
	}
	reach("0")
	w.stopHelper()
	reach("1") // no call waits for it at the moment
	must(0, w.operator.UploadPool(ctx, w.plan.Pool, w.pool))
	must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
	if _, err := w.operator.Open(ctx, "trial"); err == nil ||
		!strings.Contains(err.Error(), "it stays a draft") ||
		!strings.Contains(err.Error(), "the helper is not available") {
		t.Errorf("opened without a helper: %v", err)
	}
	if s := must(w.operator.Study(ctx, "trial")); s.State != study.Draft ||
		!strings.Contains(s.Reason, "type caucus study open again") {
		t.Errorf("it is %s: %q", s.State, s.Reason)
	}
	must(0, w.startHelper())
	s := w.opened()
	reach("0")
	if s.Reason != "" {
		t.Errorf("an open study still says %q", s.Reason)
	}
	all := w.uploads(s)
	w.stopHelper()
	for i, p := range w.plan.Roster {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, all[i]))
	}
	for w.wait("trial", study.Sealed).Reason == "" { // until it has tried
		time.Sleep(5 * time.Millisecond)
	}
	w.stop()
	w.start()
	must(0, w.startHelper())
	w.clock.add(2 * lastWait)
	w.wait("trial", study.Released)
	if r := w.verified(); r.Parties != 3 {
		t.Errorf("released of %d", r.Parties)
	}
}

// TestSharedRefusals: a study that can never be released is refused before parties see it.
func TestSharedRefusals(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	w.stopHelper()
	w.helper.Policy.MinimumParties = 3
	must(0, w.startHelper())
	must(0, w.operator.UploadPool(ctx, w.plan.Pool, w.pool))
	must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
	if _, err := w.opens("trial"); !errors.Is(err, protocol.ErrDenied) ||
		!strings.Contains(err.Error(), "minimum_parties: this helper asks for 3") {
		t.Errorf("opened against the helper's policy: %v", err)
	}
	w.stopHelper()
	w.helper.Policy.MinimumParties = 2
	w.helper.Budget = map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 1, Delta: 1e-6}}
	must(0, w.startHelper())
	if _, err := w.opens("trial"); !errors.Is(err, protocol.ErrDenied) ||
		!strings.Contains(err.Error(), "too little left at unit party") {
		t.Errorf("opened against the helper's budget: %v", err)
	}
	w.stop()
	w.config.Helper = folder.Helper{}
	w.start()
	p := w.plan
	p.Name = "without"
	if _, err := w.operator.CreateStudy(ctx, must(p.Canonical()), nil); !errors.Is(err,
		study.ErrPlan) || !strings.Contains(err.Error(), "caucus helper keys") {
		t.Errorf("created without a helper: %v", err)
	}
	if _, err := w.operator.Open(ctx, "trial"); err == nil ||
		!strings.Contains(err.Error(), "no helper any more") {
		t.Errorf("opened without a helper: %v", err)
	}
}

// TestSharedRoom: a helper stores no more plans than its operator allows. The plan of a study that
// still gathers contributions makes room for another one, and is sent again once the study seals.
// Both studies are released.
func TestSharedRoom(t *testing.T) {
	w := newSharedWorld(t, 3, nil)
	w.stopHelper()
	w.helper.MaxPlans = 1
	must(0, w.startHelper())
	plans := filepath.Join(w.helper.Dir, "plans")
	kept := func(s protocol.Study) {
		t.Helper()
		all := must(os.ReadDir(plans))
		if len(all) != 1 || all[0].Name() != s.Hash.String() {
			t.Errorf("the helper keeps %v, want the plan of %s", all, s.Name)
		}
	}
	first := w.opened()
	all := w.uploads(first)
	next := w.another()
	kept(next)
	w.asked() // about both: without their plans, the helper still knows that it agreed
	kept(next)
	w.contributed(first, all)
	w.wait("trial", study.Released)
	kept(first)
	w.contributed(next, w.uploads(next))
	w.wait("next", study.Released)
	w.verified()
}

// another is a second study of the same parties, already open.
func (sw *sharedWorld) another() protocol.Study {
	sw.t.Helper()
	sw.plan.Name, sw.plan.Lambda = "next", 2*sw.plan.Lambda+1
	sw.plan = withTerms(sw.plan, sw.pool)
	sw.task = must(newStudyChecker(sw.plan, sw.pool)).task
	return sw.opened()
}

// startHelperWith starts the helper again with a budget at unit party. 0 means no limit.
func (sw *sharedWorld) startHelperWith(epsilon float64) {
	sw.t.Helper()
	sw.stopHelper()
	if sw.helper.Budget = nil; epsilon > 0 {
		sw.helper.Budget =
			map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: epsilon, Delta: 1e-6}}
	}
	must(0, sw.startHelper())
}

// contributed makes all parties contribute.
func (sw *sharedWorld) contributed(s protocol.Study, uploads [][]byte) {
	sw.t.Helper()
	for i, p := range sw.plan.Roster {
		must(sw.parties[string(p)].Contribute(context.Background(), s.Hash, uploads[i]))
	}
}

// checked makes all parties contribute, and waits until both servers have checked it. The study is
// tried again, and its set signed, only when the clock moves.
func (sw *sharedWorld) checked(s protocol.Study, uploads [][]byte) {
	sw.t.Helper()
	sw.stopHelper()
	sw.contributed(s, uploads)
	// The coordinator's next try comes a minute later, so the test acts before the helper is back.
	// The clock moves once for each try, so that no deadline passes on a slow machine.
	wait := fmt.Sprintf("\"study\":\"%s\",\"wait\":", s.Hash)
	for tries := 0; !strings.Contains(sw.log.String(),
		fmt.Sprintf("%s%d", wait, lastWait)); time.Sleep(5 * time.Millisecond) {
		if n := strings.Count(sw.log.String(), wait); n > tries {
			tries = n
			sw.clock.add(2 * lastWait)
		}
	}
	must(0, sw.startHelper())
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, err := sw.server.sharing.server.Advance(context.Background(), s.Hash,
			sw.server.sharing.helper)
		if err == nil {
			return
		}
		if !errors.Is(err, protocol.ErrHelper) || time.Now().After(until) {
			sw.t.Fatal(err)
		}
	}
}

// waits makes all parties contribute, and waits until the study waits for the helper, for a given
// reason.
func (sw *sharedWorld) waits(s protocol.Study, uploads [][]byte, reason string) {
	sw.t.Helper()
	sw.contributed(s, uploads)
	for !strings.Contains(sw.wait(s.Name, study.Sealed, study.Summed).Reason, reason) {
		time.Sleep(5 * time.Millisecond)
		sw.clock.add(2 * lastWait)
	}
}

// cancelled cancels a study at a moment when it is not being tried.
func (sw *sharedWorld) cancelled(s protocol.Study) {
	sw.t.Helper()
	for {
		_, err := sw.operator.CancelStudy(context.Background(), s.Name, "no need")
		if err == nil {
			return
		}
		if !errors.Is(err, protocol.ErrBusy) {
			sw.t.Fatal(err)
		}
	}
}

// shareError asks the helper for its share of a study and returns the error. If a connection breaks
// because the helper restarted, it asks again.
func (sw *sharedWorld) shareError(h study.Hash) error {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := sw.server.sharing.helper.Share(context.Background(), h)
		if !errors.Is(err, protocol.ErrHelper) || time.Now().After(end) {
			return err
		}
	}
}

// told waits until the helper was told about every failed study.
func (sw *sharedWorld) told() {
	sw.t.Helper()
	for len(must(sw.server.sharing.server.UnreportedFailures(context.Background()))) > 0 {
		sw.asked()
	}
}

// TestPlanLostWhileReleasing: a plan is removed at the helper while the two servers release. The
// coordinator sends the plan again, and the study is released, whatever the helper's policy says by
// then.
func TestPlanLostWhileReleasing(t *testing.T) {
	w := newSharedWorld(t, 3, nil)
	s := w.opened()
	all := w.uploads(s)
	w.startHelperWith(1)
	w.waits(s, all, "budget") // both have signed the set
	w.stopHelper()
	must(0, os.RemoveAll(filepath.Join(w.helper.Dir, "plans", s.Hash.String())))
	w.helper.Policy.Kinds = []string{"describe"}
	w.startHelperWith(0)
	w.clock.add(2 * lastWait)
	w.wait("trial", study.Released)
	w.verified()
}

// TestHelperIsToldOfTheEnd: a study is cancelled after the two servers got its contributions. The
// helper deletes them as soon as it can be told, also after a restart of the coordinator. Until
// then, a sealed study that finds no room waits and says why.
func TestHelperIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	w.stopHelper()
	w.helper.MaxPlans = 1
	must(0, w.startHelper())
	first := w.opened()
	uploads := w.uploads(first)
	next := w.another()
	w.checked(next, w.uploads(next))
	third := w.plan
	third.Name = "third"
	must(w.operator.CreateStudy(ctx, must(third.Canonical()), nil))
	if _, err := w.opens("third"); !errors.Is(err, protocol.ErrDenied) ||
		!strings.Contains(err.Error(), "max_plans") ||
		!strings.Contains(err.Error(), "stays a draft") {
		t.Errorf("a plan at a helper that keeps one, which is under way: %v", err)
	}
	w.contributed(first, uploads)
	for !strings.Contains(w.wait("trial", study.Sealed).Reason, "max_plans") {
		time.Sleep(5 * time.Millisecond)
	}
	w.stopHelper()
	w.cancelled(next)
	w.asked() // the helper does not answer
	w.stop()
	w.start()
	if left := must(w.server.sharing.server.UnreportedFailures(ctx)); !slices.Equal(left,
		[]study.Hash{next.Hash}) {
		t.Errorf("untold are %v", left)
	}
	must(0, w.startHelper())
	w.told()
	if err := w.shareError(next.Hash); !errors.Is(err, aggregators.ErrFailed) ||
		!strings.Contains(err.Error(), "the coordinator ended it") {
		t.Errorf("the helper's share of a study that was cancelled: %v", err)
	}
	w.clock.add(2 * lastWait)
	w.wait("trial", study.Released)
	if _, err := w.opens("third"); err != nil {
		t.Errorf("in the place of one that is over: %v", err)
	}
	w.stopHelper()
	j := must(journal.OpenSQLite(filepath.Join(w.helper.Dir, helper.LedgerFile)))
	defer j.Close()
	if n := must(privacy.Verify(ctx, j))[privacy.Party].Charges; n != 1 {
		t.Errorf("the helper was charged %d times, for one release", n)
	}
}

// TestSharedEndings: a study with two servers is closed, gets a lower minimum, fails with too few
// contributions and is taken up again, or is cancelled.
func TestSharedEndings(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("closed at an amended minimum", func(t *testing.T) {
		w := newSharedWorld(t, 4, func(p *study.Plan) { p.Minimum, p.Floor = 4, 2 })
		s := w.opened()
		all := w.uploads(s)
		for i := range 2 {
			must(w.parties[fmt.Sprint("p", i)].Contribute(ctx, s.Hash, all[i]))
		}
		if _, err := w.operator.CloseStudy(ctx, "trial"); !errors.Is(err, study.ErrTooFew) {
			t.Errorf("closed with too few: %v", err)
		}
		must(w.operator.AmendStudy(ctx, "trial", admin.AmendOptions{Minimum: 2}))
		must(w.operator.CloseStudy(ctx, "trial"))
		w.wait("trial", study.Released)
		if r := w.verified(); r.Parties != 2 || len(r.Amendments) != 1 {
			t.Errorf("released of %d after %d amendments", r.Parties, len(r.Amendments))
		}
	})
	t.Run("failed, and taken up again", func(t *testing.T) {
		w := newSharedWorld(t, 3, nil)
		s := w.opened()
		all := w.uploads(s)
		must(w.parties["p0"].Contribute(ctx, s.Hash, all[0]))
		w.clock.add(2 * time.Hour)
		w.wait("trial", study.Failed)
		must(w.operator.AmendStudy(ctx, "trial",
			admin.AmendOptions{Deadline: w.clock.Now().Add(time.Hour)}))
		for i := range 3 {
			must(w.parties[fmt.Sprint("p", i)].Contribute(ctx, s.Hash, all[i]))
		}
		w.wait("trial", study.Released)
		if r := w.verified(); r.Parties != 3 {
			t.Errorf("released of %d", r.Parties)
		}
	})
	t.Run("too few are left", func(t *testing.T) {
		w := newSharedWorld(t, 2, nil)
		s := w.opened()
		all := w.uploads(s)
		all[1][40] ^= 1
		for i := range 2 {
			must(w.parties[fmt.Sprint("p", i)].Contribute(ctx, s.Hash, all[i]))
		}
		if s := w.wait("trial", study.Failed, study.Released); s.State != study.Failed ||
			!strings.Contains(s.Reason, "both servers refused what 1 sent") {
			t.Errorf("it is %s: %s", s.State, s.Reason)
		}
		if n := must(privacy.JournalHead(ctx, w.server.scheduler.releaser.journal)).Sequence; n != 0 {
			t.Errorf("the coordinator's ledger has %d entries", n)
		}
		if _, err := w.operator.AmendStudy(ctx, "trial",
			admin.AmendOptions{Deadline: w.clock.Now().Add(2 * time.Hour)}); !errors.Is(err,
			study.ErrNotOpen) {
			t.Errorf("taken up again after its contributions were given away: %v", err)
		}
	})
	t.Run("the helper's budget is too small by then", func(t *testing.T) {
		w := newSharedWorld(t, 2, nil)
		s := w.opened()
		all := w.uploads(s)
		w.startHelperWith(1)
		w.waits(s, all, "budget")
		w.startHelperWith(0) // its operator raises the budget
		w.clock.add(2 * lastWait)
		w.wait("trial", study.Released)
		w.verified()
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		w := newSharedWorld(t, 2, nil)
		s := w.opened()
		all := w.uploads(s)
		w.stopHelper()
		for i := range 2 {
			must(w.parties[fmt.Sprint("p", i)].Contribute(ctx, s.Hash, all[i]))
		}
		for w.wait("trial", study.Sealed).Reason == "" {
			time.Sleep(5 * time.Millisecond)
		}
		w.cancelled(s)
		m := must(w.server.sharing.server.Progress(ctx, s.Hash))
		if m.Failed == "" {
			t.Error("its shares are still there")
		}
	})
}
