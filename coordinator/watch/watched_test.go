package watch_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/coordinator/watch"
	"caucus/dataset"
	"caucus/internal/clock"
	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// watched is a coordinator with a real folder. A test decides what the daemon would say.
type watched struct {
	watch.WatchedParts
	health    watch.Health
	summaries []*pb.Summary
	unlisted  error
	http      *http.Client
	watcher   *watch.Watcher
}

func (w *watched) Health() watch.Health {
	health := w.health
	health.Now = time.Now()
	return health
}

func (w *watched) Studies(context.Context) ([]*pb.Summary, error) { return w.summaries, w.unlisted }

func (w *watched) Awaited(_ study.Hash, contributors, _ []study.PartyID) []study.PartyID {
	return contributors
}

// newWatched makes a coordinator's folder and serves its metrics and page.
func newWatched(t *testing.T, change func(*folder.Config)) *watched {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "coordinator")
	must(0, folder.Init(folder.InitOptions{Dir: dir, Listen: "127.0.0.1:0"}))
	c := must(folder.LoadConfig(filepath.Join(dir, folder.ConfigFile))).WithDefaults()
	change(&c)
	c.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	stores := must(folder.OpenStores(c))
	now := time.Now()
	w := &watched{http: &http.Client{Jar: must(cookiejar.New(nil)), Timeout: time.Minute}}
	w.WatchedParts = watch.WatchedParts{Coordinator: w, Config: &c, Store: stores.Store,
		Journal: stores.Journal, Ledger: must(privacy.Open(stores.Journal, privacy.Config{})),
		Calls: watch.NewCallTracker(c.Log), Metrics: watch.NewMetrics(), Address: "127.0.0.1:7443",
		Started: now, AuthorityEnds: now.AddDate(1, 0, 0)}
	w.watcher = must(watch.Listen(w.WatchedParts))
	served := make(chan error, 1)
	go func() { served <- w.watcher.Serve() }()
	t.Cleanup(func() {
		w.http.CloseIdleConnections()
		if err := errors.Join(w.watcher.Close(), w.watcher.Close()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		stores.Close()
	})
	return w
}

func (w *watched) get(t *testing.T, at, host string) (int, string) {
	t.Helper()
	request := must(http.NewRequest("GET", at, nil))
	request.Host = host
	reply := must(w.http.Do(request))
	defer reply.Body.Close()
	text := string(must(io.ReadAll(reply.Body)))
	if _, page, styled := strings.Cut(text, "</style>"); styled {
		text = page
	}
	return reply.StatusCode, text
}

// visit opens the page by a link, and returns its address.
func (w *watched) visit(t *testing.T) string {
	t.Helper()
	reply := must(w.http.Get(must(webpage.NewLink(w.Config.Dir, w.watcher.PageAt().String(),
		time.Now()))))
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("the page: %d %s", reply.StatusCode, must(io.ReadAll(reply.Body)))
	}
	return reply.Request.URL.String()
}

// add stores a study of three parties in a state, of which some have contributed. alter changes its
// plan.
func (w *watched) add(t *testing.T, state study.State, alter func(*study.Plan),
	received ...study.PartyID) study.Hash {
	t.Helper()
	schema := must(dataset.ParseSchema(strings.NewReader(`
label: {column: y, classes: [no, yes]}
features:
  - {column: a, kind: numeric, min: 0, max: 10}
`)))
	p := study.Plan{Name: "trial", Kind: "classify", Purpose: "<script>alert(1)</script>",
		Schema: schema, Map: dataset.Identity(schema), Roster: []study.PartyID{"p0", "p1", "p2"},
		Unit: privacy.Party, Epsilon: 1, Delta: 1e-6, Mechanism: "tally",
		Noise: study.NoiseCoordinator, KindTerms: []byte(`{"shards":1}`), Minimum: 2,
		TermsDigest: strings.Repeat("0", 64),
		Deadline:    time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	if alter != nil {
		alter(&p)
	}
	text := must(p.Canonical())
	h := study.HashOf(text)
	w.update(t, func(tx records.Tx) error {
		err := tx.AddStudy(records.Study{Hash: h, Name: p.Name, Plan: text, Signature: []byte("s"),
			Created: time.Now(), State: study.Draft})
		if state != study.Draft {
			err = errors.Join(err, tx.SetState(h, study.Draft, study.Open, ""))
		}
		for _, party := range received {
			err = errors.Join(err, tx.AddContribution(protocol.Receipt{Plan: h, Party: party,
				Body:     study.BodyDigest(sha256.Sum256([]byte(string(party) + p.Name))),
				Document: []byte("d"), Signature: []byte("s")}, []byte("the ballot of "+party)))
		}
		if state != study.Draft && state != study.Open {
			err = errors.Join(err, tx.SetState(h, study.Open, state, "why it ended"))
		}
		return err
	})
	return h
}

func (w *watched) update(t *testing.T, do func(records.Tx) error) {
	t.Helper()
	if err := w.Store.Update(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

// TestMetrics: metrics describe the coordinator's health, and name neither parties nor studies.
// Only this machine can read them.
func TestMetrics(t *testing.T) {
	w := newWatched(t, func(c *folder.Config) {
		c.Metrics = "127.0.0.1:0"
		c.Budget = map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 20, Delta: 1e-5}}
	})
	at := "http://" + w.watcher.MetricsAt().String()
	w.update(t, func(tx records.Tx) error {
		return errors.Join(tx.AddMember("clinic", protocol.RoleParty),
			tx.AddCertificate(records.Certificate{Serial: "5", Name: "clinic",
				Expires: time.Now().Add(time.Hour)}))
	})
	must(0, w.Ledger.Spend(t.Context(), "trial",
		privacy.PureCost(privacy.Party, 0, big.NewRat(1, 2))))
	deadline := time.Now().Add(90 * time.Minute).UnixMilli()
	w.summaries = []*pb.Summary{
		{Name: "trial", State: string(study.Open), Roster: 3, Contributed: 1,
			DeadlineUnixMillis: deadline + 9e6},
		{Name: "next", State: string(study.Open), Roster: 2, DeadlineUnixMillis: deadline},
		{Name: "over", State: string(study.Released), Roster: 2, Contributed: 2}}
	w.health = watch.Health{LedgerBehind: true, Uploads: 4, HasHelper: true,
		HelperSilentSince: time.Now()}
	w.Metrics.Contributions.Inc()
	watch.ObserveSeconds(w.Metrics.CommitSeconds, time.Second, 3*time.Second)
	code, metrics := w.get(t, at+"/metrics", "localhost")
	for _, want := range []string{`caucus_studies{state="open"} 2`,
		`caucus_studies{state="failed"} 0`, "caucus_contributions_awaited 4",
		`caucus_members{role="party",status="enrolled"} 1`,
		`caucus_members{role="party",status="invited"} 0`, "caucus_next_deadline_seconds 5",
		"caucus_ledger_behind 1", "caucus_clock_doubted 0", "caucus_files_damaged 0",
		"caucus_commit_seconds_sum 2", "caucus_contributions_total 1", "caucus_disk_free_bytes ",
		"caucus_uploads_under_way 4", "caucus_helper_out_of_reach 1", "go_goroutines ",
		"process_resident_memory_bytes ", `caucus_certificate_expiry_seconds{whose="member"}`,
		`caucus_certificate_expiry_seconds{whose="authority"}`,
		`caucus_budget_spent_epsilon{unit="party"} 0.5`, `caucus_budget_epsilon{unit="party"} 20`,
		"caucus_standing_unknown 0"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%d: metrics do not say %q:\n%s", code, want, metrics)
		}
	}
	for _, name := range []string{"trial", "next", "over", "clinic"} {
		if strings.Contains(metrics, fmt.Sprintf("%q", name)) {
			t.Errorf("metrics name %s", name)
		}
	}
	if problems := must(testutil.GatherAndLint(w.Metrics.Registry)); len(problems) > 0 {
		t.Errorf("the names of metrics: %v", problems)
	}
	// A foreign page whose name resolves to this machine gets nothing.
	if code, _ := w.get(t, at+"/metrics", "attacker.example"); code != http.StatusForbidden {
		t.Errorf("metrics under another name: %d", code)
	}
	w.unlisted = errors.New("no")
	if _, metrics := w.get(t, at+"/metrics", "localhost"); !strings.Contains(metrics,
		"caucus_standing_unknown 1") {
		t.Errorf("where studies cannot be listed:\n%s", metrics)
	}
}

// TestReadiness: each cause that keeps a coordinator from working has its own line, none hides
// another, and the process still counts as alive.
func TestReadiness(t *testing.T) {
	w := newWatched(t, func(c *folder.Config) { c.Metrics = "127.0.0.1:0" })
	at := "http://" + w.watcher.MetricsAt().String()
	all := map[string]func(){
		"the clock jumped": func() { w.health.ClockDoubt = errors.New("the clock jumped") },
		"another leads":    func() { w.health.RivalLeader = errors.New("another leads") },
		"is damaged":       func() { w.health.StoreDamaged = true },
		"ledger is behind": func() { w.health.LedgerBehind = true },
		"has not answered": func() { w.health.HelperSilentSince = time.Now() },
		"nearly full":      func() { w.Config.Limits.Body = math.MaxInt },
	}
	body := w.Config.Limits.Body
	for what, trouble := range all {
		if code, says := w.get(t, at+"/readyz", "localhost"); code != http.StatusOK {
			t.Errorf("before %s: %d %s", what, code, says)
		}
		trouble()
		code, says := w.get(t, at+"/readyz", "localhost")
		if code != http.StatusServiceUnavailable || !strings.Contains(says, what) {
			t.Errorf("%s: %d %s", what, code, says)
		}
		if code, _ := w.get(t, at+"/livez", "localhost"); code != http.StatusOK {
			t.Errorf("%s: not alive", what)
		}
		w.health, w.Config.Limits.Body = watch.Health{}, body
	}
	for _, trouble := range all {
		trouble()
	}
	must(0, w.Store.Close())
	_, says := w.get(t, at+"/readyz", "localhost")
	for what := range all {
		if !strings.Contains(says, what) || strings.Count(says, "\n") != len(all)+1 ||
			!strings.Contains(says, "the store cannot be read") {
			t.Errorf("with all of them, %s: %s", what, says)
		}
	}
}

// TestPage: the page shows what an operator's commands show: studies, open ones first, members and
// why studies wait for them, replicas, and spent budget. It shows nothing of a contribution, and no
// release whose plan names its readers.
func TestPage(t *testing.T) {
	w := newWatched(t, func(c *folder.Config) {
		c.Page, c.Metrics = "127.0.0.1:0", "127.0.0.1:0" // both at one address
		c.Budget = map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 20, Delta: 1e-5}}
		c.Report = func(to io.Writer, r study.Release) error {
			_, err := fmt.Fprintf(to, "the report of %d parties", r.Parties)
			return err
		}
	})
	named := func(name string) func(*study.Plan) { return func(p *study.Plan) { p.Name = name } }
	open := w.add(t, study.Open, named("open-one"), "p0")
	sealed := w.add(t, study.Sealed, named("sealed-one"), "p0", "p1")
	draft := w.add(t, study.Draft, named("draft-one"))
	over := w.add(t, study.Released, named("for-all"), "p0", "p1")
	private := w.add(t, study.Released, func(p *study.Plan) {
		p.Name, p.Readers = "for-one", []string{"p1"}
	}, "p0", "p1")
	w.update(t, func(tx records.Tx) error {
		release := must(json.Marshal(study.Release{Manifest: study.Manifest{Unit: privacy.Party,
			Parties: 2}, Plan: []byte("{}")}))
		_, err := tx.Decline(open, "p2")
		return errors.Join(err, tx.AddRelease(over, records.Release{Document: release,
			Signature: []byte("s")}), tx.AddMember("p1", protocol.RoleParty),
			tx.AddCertificate(records.Certificate{Serial: "5", Name: "p1",
				Expires: time.Now().Add(time.Hour)}))
	})
	caller := protocol.Caller{Name: "p1", Role: protocol.RoleParty}
	w.Calls.RecordCall(caller, &pb.ListRequest{Run: []byte("run"), Waits: []*pb.Wait{{
		PlanHash: open[:], What: string(protocol.WaitDay)}}}, time.Now())
	w.health.Replicas = []cluster.Member{
		{Alive: true, State: cluster.State{Address: "a:1", IsLeader: true, Epoch: 7}},
		{Alive: true, State: cluster.State{Address: "b:1"}}, {State: cluster.State{Address: "c:1"}}}
	w.health.ClockDoubt = errors.New("the clock jumped")
	for i := range 500 { // more entries than the plot has points
		must(0, w.Ledger.Spend(t.Context(), fmt.Sprint(i),
			privacy.PureCost(privacy.Party, 0, big.NewRat(1, 1000))))
	}
	base := w.visit(t)
	// The page waits only a short time for the ledger to be read.
	for until :=
		time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if _, text := w.get(t, base, ""); strings.Contains(text, "500 charges") {
			break
		}
	}
	all := ""
	for _, path := range []string{"", "study/" + open.String(), "study/" + sealed.String(),
		"study/" + draft.String(), "study/" + over.String(), "study/" + private.String()} {
		code, text := w.get(t, base+path, "")
		if code != http.StatusOK {
			t.Errorf("%q: %d %s", path, code, text)
		}
		if strings.Contains(text, "<script") || strings.Count(text, "<form") != 1 ||
			!strings.Contains(text, "/leave\"") {
			t.Errorf("%q runs or does something: %s", path, text)
		}
		all += text
	}
	for _, says := range []string{"open-one", "sealed-one", "draft-one", "for-all", "for-one",
		"&lt;script&gt;", "p0", "names who reads it: p1. It is not shown here", "500 charges",
		"leads, epoch 7", "stands by", "gone", "the clock jumped", "1 enrolled",
		"1 of 3 have contributed", "open-one: " + protocol.WaitDay.Words()} {
		if !strings.Contains(all, says) {
			t.Errorf("the pages do not say %q", says)
		}
	}
	if first, last := strings.Index(all, "open-one"), strings.Index(all, "for-all"); first > last {
		t.Error("a study that is over comes before one that is open")
	}
	if strings.Contains(all, "the ballot of") {
		t.Error("a contribution is on the page")
	}
	must(0, w.Store.View(t.Context(), func(tx records.Tx) error {
		for _, h := range []study.Hash{open, sealed, over, private} {
			received, err := tx.Received(h)
			if err != nil || len(received) == 0 {
				t.Errorf("%v, %v", received, err)
			}
			for _, digest := range received {
				if strings.Contains(all, digest.String()[:8]) {
					t.Error("the digest of a contribution is on the page")
				}
			}
		}
		return nil
	}))
	if code, text := w.get(t, base+"study/"+over.String()+"/report", ""); code != http.StatusOK ||
		text != "the report of 2 parties" {
		t.Errorf("the report: %d %s", code, text)
	}
	for _, path := range []string{"study/" + private.String() + "/report",
		"study/" + strings.Repeat("0", 64), "study/for-all", "study/../../metrics", "other"} {
		if code, text := w.get(t, base+path, ""); code == http.StatusOK {
			t.Errorf("%s: %s", path, text)
		}
	}
	if code, text := w.get(t, "http://"+w.watcher.PageAt().String()+"/metrics", ""); code !=
		http.StatusOK || strings.Contains(text, "for-all") {
		t.Errorf("metrics: %d", code)
	}
	must(0, w.Store.Close())
	if code, _ := w.get(t, base, ""); code != http.StatusServiceUnavailable {
		t.Errorf("without a store: %d", code)
	}
}

// TestPageWaitsForNoLedger: while the ledger is locked, as during a draw, the page loads and says
// so. It also says if the ledger cannot be read.
func TestPageWaitsForNoLedger(t *testing.T) {
	elapsed := make(chan time.Duration, 1)
	elapsed <- 0
	now := func() time.Duration {
		d := <-elapsed
		elapsed <- d
		return d
	}
	w := newWatched(t, func(c *folder.Config) {
		c.Page = "127.0.0.1:0"
		c.Clock = clock.Clock{Now: time.Now, Elapsed: now}.Complete()
	})
	base := w.visit(t)
	says := func(want string) {
		t.Helper()
		text := ""
		for until := time.Now().Add(time.Minute); !strings.Contains(text, want); {
			if time.Now().After(until) {
				t.Fatalf("it does not say %q: %s", want, text)
			}
			elapsed <- <-elapsed + time.Hour // the earlier copy is old now
			code := 0
			if code, text = w.get(t, base, ""); code != http.StatusOK {
				t.Fatalf("%d %s", code, text)
			}
		}
	}
	says("Nothing was charged here yet")
	held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- w.Journal.Update(context.Background(), func(privacy.Tx) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	says("The ledger is being read.")
	close(free)
	must(0, <-done)
}

// TestListeners: page and metrics are served at the configured addresses, and nowhere else. If a
// port is taken, the error leaves nothing listening.
func TestListeners(t *testing.T) {
	for name, set := range map[string]func(*folder.Config){
		"none":    func(*folder.Config) {},
		"page":    func(c *folder.Config) { c.Page = "127.0.0.1:0" },
		"metrics": func(c *folder.Config) { c.Metrics = "127.0.0.1:0" },
		"both":    func(c *folder.Config) { c.Page, c.Metrics = "127.0.0.1:0", "localhost:0" },
	} {
		w := newWatched(t, set)
		page, metrics := w.watcher.PageAt(), w.watcher.MetricsAt()
		if (page != nil) != (name == "page" || name == "both") ||
			(metrics != nil) != (name == "metrics" || name == "both") {
			t.Fatalf("%s: page at %v, metrics at %v", name, page, metrics)
		}
		if page != nil {
			base := w.visit(t)
			for _, path := range []string{"metrics", "livez", "readyz"} {
				if code, text := w.get(t, base+path, ""); code != http.StatusNotFound {
					t.Errorf("%s where the page is: %d %s", path, code, text)
				}
			}
		}
		if metrics != nil {
			for path, want := range map[string]int{"metrics": http.StatusOK,
				"livez": http.StatusOK, "": http.StatusNotFound,
				"open?link=x": http.StatusNotFound} {
				if code, _ := w.get(t, "http://"+metrics.String()+"/"+path, ""); code != want {
					t.Errorf("/%s where machines read: %d, want %d", path, code, want)
				}
			}
		}
	}
	taken := must(net.Listen("tcp", "127.0.0.1:0"))
	defer taken.Close()
	w := newWatched(t, func(*folder.Config) {})
	w.Config.Page, w.Config.Metrics = "127.0.0.1:0", taken.Addr().String()
	w.Metrics = watch.NewMetrics()
	if _, err := watch.Listen(w.WatchedParts); err == nil ||
		!strings.Contains(err.Error(), "listen for metrics") {
		t.Errorf("a port that is taken: %v", err)
	}
}
