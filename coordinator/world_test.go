package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"caucus/aggregation"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/internal/clock"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds/results"
)

func TestMain(m *testing.M) {
	testlevel.InMemory()
	if os.Getenv(childFolder) != "" {
		runChild()
		return
	}
	if asReplica != nil && os.Getenv("CAUCUS_REPLICA_FOLDER") != "" {
		asReplica()
		return
	}
	if os.Getenv(helperFolder) != "" {
		runHelper()
		return
	}
	if os.Getenv(loadFolder) != "" {
		runLoad()
		return
	}
	if os.Getenv(fetchFolder) != "" {
		runFetch()
		return
	}
	goleak.VerifyTestMain(m)
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// raced reports whether the race detector is on, which makes everything ten times slower.
var raced bool

// cases is the number of cases in this run, and their number if the race detector is on.
func cases(t testing.TB, few, many, race int) int {
	if raced {
		few, many = race, race
	}
	return testlevel.N(t, few, many)
}

// some is a number of cases, or a third of it if the race detector is on.
func some(n int) int {
	if raced {
		return (n + 2) / 3
	}
	return n
}

// testClock runs like the machine's clock. Tests can move it in two ways: by letting time pass, so
// that timers fire, or by setting the date, so that they do not.
type testClock struct {
	began time.Time

	mu     sync.Mutex
	ahead  time.Duration // ahead of the machine's clock
	passed time.Duration // time that passed only on this clock
}

func newClock() *testClock { return &testClock{began: time.Now()} }

func (t *testClock) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Add(t.ahead)
}

func (t *testClock) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead, t.passed = t.ahead+d, t.passed+d
}

// jump sets the clock without letting time pass.
func (t *testClock) jump(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead += d
}

func (t *testClock) elapsed() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(t.began) + t.passed
}

// book is a log that tests can read.
type book struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// copyFolder copies a daemon's folder. The owner alone may open the copies, as the daemon demands.
func copyFolder(to, from string) {
	must(0, os.CopyFS(to, os.DirFS(from)))
	must(0, filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	}))
}

// world is a coordinator with its operator and parties, on loopback.
type world struct {
	t        testing.TB
	config   folder.Config
	clock    *testClock
	log      *book
	server   *Server
	stop     func()
	operator *admin.Client
	parties  map[string]*admin.Client
}

// asReplica runs a replica. Only systems with replicas set it.
var asReplica func()

// store makes PostgreSQL databases for new worlds. If it is nil, worlds use files.
var store func(testing.TB) string

// newWorld makes and starts a coordinator; change may alter its config.
func newWorld(t testing.TB, change func(*folder.Config)) *world {
	t.Helper()
	return newWorldIn(t, store, change)
}

// newWorldIn is newWorld with a database for the coordinator, or with files if it is nil.
func newWorldIn(t testing.TB, database func(testing.TB) string,
	change func(*folder.Config)) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), log: &book{}, parties: map[string]*admin.Client{}}
	dir := filepath.Join(t.TempDir(), "coordinator")
	must(0, folder.Init(folder.InitOptions{Dir: dir, Listen: "127.0.0.1:0", Now: w.clock.Now}))
	if database != nil {
		must(folder.MoveToPostgreSQL(context.Background(), dir, database(t)))
	}
	w.config = must(folder.LoadConfig(filepath.Join(dir, folder.ConfigFile)))
	w.config.Listen = "127.0.0.1:" + must(testlevel.FreePort()) // free during a restart
	w.config.AllowNoStandby = true
	w.config.Address = ""
	w.config.Clock = clock.Clock{Now: w.clock.Now, Elapsed: w.clock.elapsed}
	w.config.CheckInterval, w.config.WitnessWait = 5*time.Millisecond, 0
	w.config.Limits.Rate, w.config.Limits.Burst = 1e6, 1e6
	w.config.Log = slog.New(slog.NewJSONHandler(w.log,
		&slog.HandlerOptions{Level: slog.LevelDebug}))
	if change != nil {
		change(&w.config)
	}
	w.start()
	t.Cleanup(w.end)
	w.operator = w.dial(must(protocol.LoadIdentity(filepath.Join(dir, folder.OperatorFile))))
	return w
}

func (w *world) start() {
	w.t.Helper()
	if w.config.Replicas.Listen != "" && w.config.Stores == nil {
		w.config.Stores = must(WaitToLead(context.Background(), w.config))
	}
	w.server = must(New(w.config))
	w.config.Stores = nil
	w.config.Listen = w.server.Addr() // the same address after a restart
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.server.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	w.call()
}

// call makes all parties ask for studies, as agents do again and again.
func (w *world) call() {
	w.t.Helper()
	for name, c := range w.parties {
		for until := time.Now().Add(20 * time.Second); ; {
			_, err := c.Studies(context.Background())
			if err == nil || errors.Is(err, protocol.ErrDenied) {
				break
			}
			if !protocol.IsRetryable(err) || time.Now().After(until) {
				w.t.Fatalf("%s calls: %v", name, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (w *world) end() {
	w.stop()
	if w.operator != nil {
		w.operator.Close()
	}
	for _, c := range w.parties {
		c.Close()
	}
}

func (w *world) dial(id protocol.Identity) *admin.Client {
	return must(admin.Dial(id,
		protocol.DialOptions{Coordinator: w.server.Addr(), Now: w.clock.Now}))
}

// enrol invites and enrols a party.
func (w *world) enrol(name string) *admin.Client {
	w.t.Helper()
	text, _, err := w.operator.Invite(context.Background(), admin.InviteOptions{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	c := w.dial(must(protocol.Enrol(context.Background(), must(protocol.ParseInvitation(text)),
		must(protocol.NewEnrolment()),
		protocol.DialOptions{Now: w.clock.Now})))
	w.parties[name] = c
	if _, err := c.Studies(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// names are p0 … p(n−1).
func names(n int) (out []study.PartyID) {
	for i := range n {
		out = append(out, study.PartyID(fmt.Sprint("p", i)))
	}
	return out
}

const schemaText = `
label: {column: y, classes: [no, yes]}
features:
  - {column: a, kind: numeric, min: 0, max: 10}
  - {column: b, kind: numeric, min: 0, max: 1}
`

// poolOf makes the canonical bytes of a pool of n rows.
func poolOf(n int) []byte {
	var b strings.Builder
	b.WriteString("a,b\n")
	for i := range n {
		fmt.Fprintf(&b, "%d.%d,0.%d\n", i%10, i%7, (i*37)%97+1)
	}
	return []byte(b.String())
}

// planOf is a party-level tally.
func planOf(roster []study.PartyID, pool []byte, deadline time.Time) study.Plan {
	schema := must(dataset.ParseSchema(strings.NewReader(schemaText)))
	return withTerms(study.Plan{
		Name: "trial", Kind: "classify", Form: study.FormCommitted, Schema: schema, Map: dataset.Identity(schema), Pool: sha256.Sum256(pool), Roster: roster,
		Unit: privacy.Party, Epsilon: 8, Delta: 1e-6, Mechanism: "tally", Noise: study.NoiseCoordinator, KindTerms: []byte(`{"shards":1}`),
		Minimum: 2, Deadline: deadline.UTC().Truncate(time.Second),
	}, pool)
}

// withTerms is a plan that says its terms.
func withTerms(p study.Plan, pool []byte) study.Plan {
	p.TermsDigest = must(study.TermsDigest(must(results.ReadTask(p, pool))))
	return p
}

// open uploads pool and plan and opens the study.
func (w *world) open(p study.Plan, pool []byte) protocol.Study {
	w.t.Helper()
	ctx := context.Background()
	if err := w.operator.UploadPool(ctx, p.Pool, pool); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.operator.CreateStudy(ctx, must(p.Canonical()), nil); err != nil {
		w.t.Fatal(err)
	}
	s, err := w.opens(p.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// opens opens a study. If a connection breaks because the helper restarted, it opens the study
// again.
func (w *world) opens(ref string) (protocol.Study, error) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s, err := w.operator.Open(context.Background(), ref)
		if err == nil || !strings.Contains(err.Error(), "the helper is not available") ||
			time.Now().After(end) {
			return s, err
		}
	}
}

// ballotFor votes "yes" on one row only, so any cell above 1 in the sum proves that a vote was
// counted twice.
func ballotFor(row, rows int) []byte {
	votes := make([]int, rows)
	votes[row] = 1
	b := must(aggregation.NewBallot(votes, 2))
	return committed(must(b.MarshalBinary()))
}

// committed puts a commitment before exact numbers, as bodies.Task.ClearBody does. The test's
// commitment is no secret.
func committed(clear []byte) []byte { return append(bytes.Repeat([]byte{7}, 32), clear...) }

// wait waits for a study to be in one of the states.
func (w *world) wait(ref string, states ...study.State) protocol.Study {
	w.t.Helper()
	for until := time.Now().Add(20 * time.Second); ; {
		s, err := w.operator.Study(context.Background(), ref)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, state := range states {
			if s.State == state {
				return s
			}
		}
		if time.Now().After(until) {
			w.t.Fatalf("study is %s (%s), want %v\n%s", s.State, s.Reason, states, w.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// sumOf is the sum of these bodies, or the kept bodies in canonical bytes.
func sumOf(p study.Plan, pool []byte, bodies [][]byte) []byte {
	return must(gathered(must(newStudyChecker(p, pool)).task, bodies).MarshalBinary())
}

// gathered collects these bodies, added up or kept as the task wants.
func gathered(task study.Task, bodies [][]byte) study.Contributions {
	all := must(study.NewAccumulator(task))
	for _, b := range bodies {
		must(0, all.Add(b))
	}
	return all.Contributions()
}

// agree checks that a coordinator's ledger has exactly one charge, for the release of these bodies,
// and that the release document follows from it.
func agree(t testing.TB, dir string, p study.Plan, pool []byte, bodies [][]byte, r study.Release) {
	t.Helper()
	ctx := context.Background()
	stores := must(folder.OpenStores(must(folder.LoadConfig(filepath.Join(dir,
		folder.ConfigFile)))))
	defer stores.Close()
	j := stores.Journal
	checker := must(newStudyChecker(p, pool))
	m := len(bodies)
	if charges := must(privacy.Verify(ctx, j))[p.Unit].Charges; charges != 1 {
		t.Errorf("the ledger has %d charges", charges)
	}
	out := must(privacy.ParsePublished(r.Published[0]))
	line, found, err := privacy.FindLine(ctx, j,
		study.ReleaseID(study.HashOf(must(p.Canonical())), "tally"))
	if err != nil || !found || line.CheckResult(out) != nil {
		t.Errorf("the release is not the ledger's answer: %v, %v", found, err)
	}
	want := must(checker.task.Finish(gathered(checker.task, bodies), []privacy.Published{out}))
	if !bytes.Equal(want.Body, r.Result.Body) || r.Parties != m {
		t.Errorf("the release of %d parties does not follow from the ledger's answer for %d", r.Parties, m)
	}
}

func holdsClassifier(r study.Release) bool {
	_, ok := classifier.Of(r.Result)
	return ok
}

func invite(t *testing.T, w *world, o admin.InviteOptions) protocol.Invitation {
	t.Helper()
	text, expires, err := w.operator.Invite(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	v := must(protocol.ParseInvitation(" " + text[:40] + "\n" + text[40:] + "\n"))
	if !v.Expires.Truncate(time.Millisecond).Equal(expires) || v.Name != o.Name {
		t.Errorf("invitation says %s for %s, the answer %s", v.Expires, v.Name, expires)
	}
	return v
}

func inviteName(w *world, name string) (string, time.Time, error) {
	return w.operator.Invite(context.Background(), admin.InviteOptions{Name: name})
}
