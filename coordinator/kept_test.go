package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/coordinator/watch"
	"caucus/dataset"
	"caucus/internal/clock"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/kinds/results"
	"caucus/study/labels"
	"caucus/study/life"
	"caucus/study/ratio"
)

// ratioPlan is a plan whose contributions are kept and may be seen by readers.
func ratioPlan(roster []study.PartyID, pool []byte, deadline time.Time) study.Plan {
	t := ratio.DefaultTerms()
	t.Features, t.Fourier, t.SetSize, t.Gamma = ratio.FeaturesNoisyEmbedding, 8, 10, 1
	return keptPlan("ratio", "gaussian-zcdp", privacy.Record, t, roster, pool, deadline)
}

// labelsPlan is a plan whose contributions are kept for the coordinator alone.
func labelsPlan(roster []study.PartyID, pool []byte, deadline time.Time) study.Plan {
	p := keptPlan("labels", "rr", privacy.Label, labels.DefaultTerms(), roster, pool, deadline)
	p.Delta, p.Lambda = 0, 0.1
	return withTerms(p, pool)
}

func keptPlan(kind, mechanism string, unit privacy.Unit, terms any, roster []study.PartyID,
	pool []byte, deadline time.Time) study.Plan {
	p := planOf(roster, pool, deadline)
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.Records = kind, mechanism, unit, study.NoiseSite, 20
	must(0, p.SetTerms(terms))
	return withTerms(p, pool)
}

// contributionsTo returns real contributions of a number of parties with a number of records each,
// each through its own ledger.
func contributionsTo(task study.Task, parties, records int) (all [][]byte) {
	for i := range parties {
		all = append(all, contributionTo(task, i, records))
	}
	return all
}

func contributionTo(task study.Task, i, records int) []byte {
	r := rand.New(rand.NewPCG(7, uint64(i)))
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for range records {
		fmt.Fprintf(&text, "%g,%g,%s\n", 10*r.Float64(), r.Float64(),
			[]string{"no", "yes"}[r.IntN(2)])
	}
	encoded, _, err :=
		task.Plan().Schema.EncodeLabelled(must(dataset.ReadCSV(strings.NewReader(text.String()),
			dataset.Format{})))
	must(0, err)
	made := must(task.Contribute(study.NewInputs(encoded, fmt.Append(nil, i))))
	ledger := must(privacy.Open(privacy.NewMemoryJournal(), privacy.Config{}))
	return must(made.Body(must(study.ReleaseRequests(context.Background(), ledger, task.Hash(),
		made.Requests))))
}

// keptWorld has an open study of three parties whose contributions are kept.
func keptWorld(t *testing.T, plan func([]study.PartyID, []byte, time.Time) study.Plan,
	change func(*folder.Config)) (w *world, s protocol.Study, pool []byte, bodies [][]byte) {
	t.Helper()
	w = newWorld(t, change)
	roster := names(3)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool = poolOf(30)
	p := plan(roster, pool, w.clock.Now().Add(time.Hour))
	return w, w.open(p, pool), pool, contributionsTo(must(newStudyChecker(p, pool)).task, 3, 20)
}

// agreeKept checks that a release follows from these bodies, whoever sent which, and that the
// coordinator's ledger was not charged.
func agreeKept(t testing.TB, s protocol.Study, pool []byte, bodies [][]byte, r study.Release) {
	t.Helper()
	task := must(newStudyChecker(s.Plan, pool)).task
	all := gathered(task, bodies)
	want := must(task.Finish(all, nil))
	if string(want.Body) != string(r.Result.Body) || r.Parties != len(bodies) ||
		len(r.Published) != 0 || len(r.Ledger) != 0 {
		t.Errorf("the release of %d parties does not follow from %d contributions", r.Parties, len(bodies))
	}
	var sum []byte
	if task.(study.BodyKeeper).PublicBodies() {
		sum = must(all.MarshalBinary())
	}
	if string(r.Sum) != string(sum) {
		t.Errorf("readers get %d bytes of bodies, want %d", len(r.Sum), len(sum))
	}
}

// stored returns the bodies and the sums in a store.
func (w *world) stored() (bodies, sums int) {
	db := w.server.store.(*records.SQL).DB.Read
	must(0, db.QueryRow("SELECT count(body) FROM contributions").Scan(&bodies))
	must(0, db.QueryRow("SELECT count(*) FROM sums").Scan(&sums))
	return bodies, sums
}

// TestKept: kept bodies stay where they were stored, without a second copy. Neither a restart after
// folding nor another order of arrival changes any bit of the release. After the release, the
// bodies are deleted.
func TestKept(t *testing.T) {
	ctx := context.Background()
	for name, plan := range map[string]func([]study.PartyID, []byte,
		time.Time) study.Plan{"ratio": ratioPlan, "labels": labelsPlan} {
		t.Run(name, func(t *testing.T) {
			w, s, pool, bodies := keptWorld(t, plan, func(c *folder.Config) {
				c.WitnessWait = 24 * time.Hour
			})
			for _, i := range []int{2, 0, 1} {
				must(w.parties[fmt.Sprint("p", i)].Contribute(ctx, s.Hash, bodies[i]))
			}
			w.wait("trial", study.Summed)
			if bodies, sums := w.stored(); bodies != 3 || sums != 0 {
				t.Errorf("%d bodies and %d sums are stored, want 3 and 0", bodies, sums)
			}
			w.stop()
			w.config.WitnessWait = 0
			w.start()
			w.wait("trial", study.Released)
			if bodies, sums := w.stored(); bodies != 0 || sums != 0 {
				t.Errorf("of a study that is over %d bodies and %d sums are stored", bodies, sums)
			}
			agreeKept(t, s, pool, bodies, must(w.operator.Release(ctx, "trial")).Release)
		})
	}
}

// TestDamagedKept: a kept body that is missing, or damaged before or after the check of its digest,
// is asked for again. The other bodies stay.
func TestDamagedKept(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		early bool
		how   string
	}{
		"before it is folded": {true, ""},
		"after it was folded": {false, ""},
		"missing":             {false, "UPDATE contributions SET body = NULL WHERE party = 'p0'"},
		"added up by a program from before": {false, `UPDATE contributions SET body = NULL WHERE party = 'p0';
			INSERT INTO sums (study, contributions, sum, digest) SELECT study, 1, x'00', x'00' FROM contributions WHERE party = 'p0'`},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, pool, bodies := keptWorld(t, ratioPlan, func(c *folder.Config) {
				c.WitnessWait = 24 * time.Hour
			})
			receipt := must(w.parties["p0"].Contribute(ctx, s.Hash, bodies[0]))
			must(w.parties["p1"].Contribute(ctx, s.Hash, bodies[1]))
			if c.early {
				w.flip("p0")
			}
			must(w.parties["p2"].Contribute(ctx, s.Hash, bodies[2]))
			if !c.early {
				w.wait("trial", study.Summed)
				if c.how == "" {
					w.flip("p0")
				} else {
					must(w.server.store.(*records.SQL).DB.Write.Exec(c.how))
				}
				w.stop()
				w.config.WitnessWait = 0
				w.start()
			}
			w.wait("trial", study.Sealed)
			for end := time.Now().Add(20 * time.Second); !must(
				w.parties["p0"].Studies(ctx)).Studies[0].CallerLost; time.Sleep(
				5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("p0 is not asked for its bytes\n%s", w.log)
				}
			}
			if must(w.parties["p1"].Studies(ctx)).Studies[0].CallerLost {
				t.Error("p1 is asked for its bytes too")
			}
			if _, err := w.parties["p0"].Contribute(ctx, s.Hash, bodies[1]); !errors.Is(err,
				study.ErrDifferentUpload) {
				t.Errorf("other bytes: %v", err)
			}
			w.stop()
			w.config.WitnessWait = 0
			w.start() // the store remembers that the body is missing
			again := must(w.parties["p0"].Contribute(ctx, s.Hash, bodies[0]))
			if string(again.Document) != string(receipt.Document) {
				t.Error("the same bytes got another receipt")
			}
			w.wait("trial", study.Released)
			agreeKept(t, s, pool, bodies, must(w.operator.Release(ctx, "trial")).Release)
		})
	}
}

// TestKeptRepairDeadline: a body was damaged after it was folded, and nobody sends it again. At the
// repair deadline, the study goes on without it.
func TestKeptRepairDeadline(t *testing.T) {
	ctx := context.Background()
	w, s, pool, bodies := keptWorld(t, labelsPlan, func(c *folder.Config) {
		c.WitnessWait = 24 * time.Hour
	})
	for i, p := range names(3) {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, bodies[i]))
	}
	w.wait("trial", study.Summed)
	w.flip("p1")
	w.stop()
	w.config.WitnessWait = 0
	w.start()
	w.until("stored contributions are damaged: check the disk. Their parties are asked for the same bytes")
	w.clock.add(w.config.RepairWait + time.Minute)
	got := w.wait("trial", study.Released)
	if !slices.Equal(got.ContributedBy, []string{"p0", "p2"}) ||
		!slices.Equal(got.Missing, []string{"p1"}) {
		t.Errorf("contributed %v, missing %v", got.ContributedBy, got.Missing)
	}
	r := must(w.operator.Release(ctx, "trial")).Release
	agreeKept(t, s, pool, [][]byte{bodies[0], bodies[2]}, r)
}

// TestKeptBackup: a restored backup of a study with kept bodies leads to the same release.
func TestKeptBackup(t *testing.T) {
	ctx := context.Background()
	w, s, pool, bodies := keptWorld(t, ratioPlan, func(c *folder.Config) {
		c.WitnessWait = 24 * time.Hour
	})
	for i, p := range names(3) {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, bodies[i]))
	}
	w.wait("trial", study.Summed)
	out := filepath.Join(t.TempDir(), "backup")
	must(folder.Backup(ctx, w.config.Dir, out, w.clock.Now()))
	w.stop()
	must(0, os.RemoveAll(w.config.Dir))
	must(folder.Restore(ctx, out, w.config.Dir))
	w.config.WitnessWait = 0
	w.start()
	w.wait("trial", study.Released)
	agreeKept(t, s, pool, bodies, must(w.operator.Release(ctx, "trial")).Release)
}

// sealed is a coordinator without a network. Its store has a sealed study with a number of
// contributions.
func sealed(t testing.TB, plan func([]study.PartyID, []byte, time.Time) study.Plan, parties int,
	body func(study.Task, int) []byte) (*Server, *runningStudy) {
	t.Helper()
	ctx, now := context.Background(), time.Now()
	pool := poolOf(30)
	p := plan(names(parties), pool, now.Add(time.Hour))
	text := must(p.Canonical())
	h := study.HashOf(text)
	task := must(results.ReadTask(p, pool))
	signer := must(protocol.NewSigner())
	store := must(records.Create(filepath.Join(t.TempDir(), folder.StoreFile)))
	t.Cleanup(func() { store.Close() })
	must(0, store.Update(ctx, func(tx records.Tx) error {
		must(0, tx.AddPool(p.Pool, pool))
		return tx.AddStudy(records.Study{Hash: h, Name: p.Name, Plan: text,
			Signature: signer.Sign(protocol.PlanDocument, text), Created: now, State: study.Sealed})
	}))
	for i, party := range p.Roster {
		b := body(task, i)
		must(0, store.Update(ctx, func(tx records.Tx) error {
			r := protocol.Receipt{Plan: h, Party: party, Body: sha256.Sum256(b),
				Document: []byte{1}, Signature: []byte{1}}
			return tx.AddContribution(r, b)
		}))
	}
	c := folder.DefaultConfig(".")
	c.WitnessWait, c.Clock = 0, clock.Clock{}.Complete()
	c.Checkpoint, c.Log = func(string) {}, slog.New(slog.DiscardHandler)
	s := &Server{config: c, counts: watch.NewMetrics(), authority: must(server.NewAuthority(now)),
		signer: signer, store: store}
	s.keys = must(protocol.FollowKeys(signer.Key(), nil))
	must(0, s.assemble(&pages{}))
	for _, party := range p.Roster {
		s.scheduler.releaser.witness.called[party] = true
	}
	return s, s.registry.all()[0]
}

// TestEarlierVersion: contributions to a plan of an earlier version have a form that this version
// cannot read. Such a study accepts none and ends, and says why.
func TestEarlierVersion(t *testing.T) {
	earlier := func(roster []study.PartyID, pool []byte, deadline time.Time) study.Plan {
		p := planOf(roster, pool, deadline)
		p.TermsDigest = strings.Repeat("0", 64)
		return p
	}
	s, running := sealed(t, earlier, 2, func(_ study.Task, i int) []byte {
		return ballotFor(i, 30)
	})
	if _, err := running.studyChecker(t.Context()); !errors.Is(err, study.ErrPlan) ||
		!strings.Contains(err.Error(), "another version") {
		t.Errorf("it takes contributions: %v", err)
	}
	s.scheduler.move(t.Context(), running)
	if m := machineOf(running); m.State != study.Failed ||
		!strings.Contains(m.Reason, "another version of the program made its plan") {
		t.Errorf("it is %s: %q", m.State, m.Reason)
	}
}

// writtenStore counts the written bytes of sums and bodies.
type writtenStore struct {
	records.Store
	mu    sync.Mutex // guards bytes
	bytes int
}

func (w *writtenStore) Update(ctx context.Context, fn func(records.Tx) error) error {
	return w.Store.Update(ctx, func(tx records.Tx) error { return fn(&writtenTx{tx, w}) })
}

type writtenTx struct {
	records.Tx
	to *writtenStore
}

func (w *writtenTx) SetSum(h study.Hash, sum []byte, contributions int,
	folded []records.Contribution) error {
	w.to.mu.Lock()
	w.to.bytes += len(sum)
	w.to.mu.Unlock()
	return w.Tx.SetSum(h, sum, contributions, folded)
}

func (w *writtenTx) Restore(h study.Hash, p study.PartyID, body []byte) error {
	w.to.mu.Lock()
	w.to.bytes += len(body)
	w.to.mu.Unlock()
	return w.Tx.Restore(h, p, body)
}

// TestFoldingIsLinear: the bytes that folding writes for each contribution do not grow with the
// number of contributions. If bodies are kept, folding writes nothing.
func TestFoldingIsLinear(t *testing.T) {
	for name, c := range map[string]struct {
		plan func([]study.PartyID, []byte, time.Time) study.Plan
		body func(study.Task, int) []byte
		most float64 // most bytes for each contribution
	}{
		"tally":  {planOf, func(_ study.Task, i int) []byte { return ballotFor(i%30, 30) }, 100},
		"ratio":  {ratioPlan, func(task study.Task, i int) []byte { return contributionTo(task, i, 5) }, 0},
		"labels": {labelsPlan, func(task study.Task, i int) []byte { return contributionTo(task, i, 5) }, 0},
	} {
		for _, parties := range []int{16, 128} {
			_, running := sealed(t, c.plan, parties, c.body)
			written := &writtenStore{Store: running.store}
			running.store, running.batch = written, 2
			must(0, running.fold(t.Context(), machineOf(running)))
			if each := float64(written.bytes) / float64(parties); each > c.most {
				t.Errorf("%s: folding %d contributions writes %g bytes for each, want at most %g", name, parties, each, c.most)
			}
			if s := machineOf(running); s.State != study.Summed || len(s.Received) != parties {
				t.Errorf("%s: it is %s with %d", name, s.State, len(s.Received))
			}
		}
	}
}

// peakReset resets the process's peak of memory to its present memory, and returns it in bytes.
func peakReset() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	must(0, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
	return process{os.Getpid()}.memory("VmHWM")
}

// machineOf is a study's state machine as advance sees it.
func machineOf(c *runningStudy) (machine *life.Study) {
	must(0, c.view(context.Background(), func(s *life.Study) error { machine = s; return nil }))
	return machine
}

// BenchmarkFold folds and releases 2,000 contributions of kinds that keep bodies, and measures the
// peak of the process's memory. For labels there are 400 records each, for ratio embeddings of
// 2,000 numbers.
//
//	go test ./coordinator -run '^$' -bench Fold/labels -benchtime 1x
func BenchmarkFold(b *testing.B) {
	embedded := func(roster []study.PartyID, pool []byte, deadline time.Time) study.Plan {
		t := ratio.DefaultTerms()
		t.Gamma = 1
		return keptPlan("ratio", "laplace", privacy.Label, t, roster, pool, deadline)
	}
	for name, c := range map[string]struct {
		plan    func([]study.PartyID, []byte, time.Time) study.Plan
		records int
	}{"labels": {labelsPlan, 400}, "ratio": {embedded, 20}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				// To save time, only fifty bodies are made. The other parties send the same
				// numbers, each with its own digest.
				made := map[int][]byte{}
				s, running := sealed(b, c.plan, 2000, func(task study.Task, i int) []byte {
					if made[i%50] == nil {
						made[i%50] = contributionTo(task, i%50, c.records)
					}
					return made[i%50]
				})
				b.StartTimer()
				from, began := peakReset(), time.Now()
				must(0, running.fold(b.Context(), machineOf(running)))
				folded, peak := time.Since(began), process{os.Getpid()}.memory("VmHWM")
				_ = peakReset()
				must(0, running.advance(b.Context(), s.scheduler.releaser))
				b.ReportMetric(folded.Seconds(), "fold-s")
				b.ReportMetric((peak-from)/1e6, "fold-peak-MB")
				b.ReportMetric((process{os.Getpid()}.memory("VmHWM")-from)/1e6, "release-peak-MB")
			}
		})
	}
}
