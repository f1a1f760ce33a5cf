package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/auxdata"
	"caucus/internal/folder"
	"caucus/internal/testlevel"
	"caucus/internal/testsite"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

func TestMain(m *testing.M) {
	testlevel.InMemory()
	if role := os.Getenv("AGENT_TEST_VICTIM"); role != "" {
		victim()
		return
	}
	if at := os.Getenv(stopwatchOf); at != "" {
		stopwatch(at)
		return
	}
	goleak.VerifyTestMain(m)
}

type coordinatorDouble struct {
	study   protocol.Study
	pool    []byte
	state   study.State
	down    error
	bodies  [][]byte // every Contribute, in order
	stored  []byte
	refuse  error
	skew    time.Duration
	lost    bool
	renewed int
	lie     func(*protocol.Receipt)

	declined int
	report   protocol.Heartbeat
}

func (c *coordinatorDouble) Decline(context.Context, study.Hash) error {
	c.declined++
	return nil
}

func (c *coordinatorDouble) Leave(context.Context, string) error {
	if c.down == nil { // its own call ends without an answer
		c.down = fmt.Errorf("%w: revoked", protocol.ErrDenied)
	}
	return fmt.Errorf("%w: connection closed", protocol.ErrUnavailable)
}

func (c *coordinatorDouble) Studies(context.Context) (protocol.Listing, error) {
	if c.down != nil {
		return protocol.Listing{}, c.down
	}
	s := c.study.Summary
	s.State, s.CallerContributed, s.CallerLost = c.state, c.stored != nil, c.lost
	return protocol.Listing{Studies: []protocol.Summary{s}, Skew: c.skew}, nil
}

func (c *coordinatorDouble) Study(context.Context, string) (protocol.Study, error) {
	return c.study, c.down
}

func (c *coordinatorDouble) Pool(_ context.Context, s protocol.Study, dir string) ([]byte, error) {
	if dir == "" {
		return c.pool, nil
	}
	return c.pool, os.WriteFile(filepath.Join(dir, "pool-"+s.Plan.Pool.String()+".csv"), c.pool,
		0o600)
}

func (c *coordinatorDouble) Contribute(_ context.Context, plan study.Hash,
	body []byte) (protocol.Receipt, error) {
	if c.refuse != nil {
		return protocol.Receipt{}, c.refuse
	}
	c.bodies = append(c.bodies, bytes.Clone(body))
	if c.stored != nil && !bytes.Equal(c.stored, body) {
		return protocol.Receipt{}, study.ErrDifferentUpload
	}
	c.stored = bytes.Clone(body)
	receipt := protocol.Receipt{Plan: plan, Party: "site", Body: sha256.Sum256(body),
		Size: len(body), Document: []byte("{}")}
	if c.lie != nil {
		c.lie(&receipt)
	}
	return receipt, nil
}

func (c *coordinatorDouble) Release(context.Context, string) (protocol.SignedRelease, error) {
	return protocol.SignedRelease{Document: []byte(`{"result":{}}`)}, nil
}

func (c *coordinatorDouble) Renew(context.Context) (protocol.Identity, error) {
	c.renewed++
	return protocol.Identity{}, errors.New("not today")
}

func (c *coordinatorDouble) SetHeartbeat(r protocol.Heartbeat) { c.report = r }

func (c *coordinatorDouble) Keys() protocol.Keys { return protocol.Keys{} }

func (c *coordinatorDouble) HangUp() error { return nil }
func (c *coordinatorDouble) Close() error  { return nil }

// The machine is measured by the real clock, before any test uses another.
var _ = new(site.Speed).Step()

const leastWindow = time.Second

// planted is a value that occurs only in the records.
const planted = testsite.PlantedValue

const pageYAML = testsite.SchemaYAML

// rig is an agent, its state folder and its coordinator.
type rig struct {
	*coordinatorDouble
	*testsite.Site
	hash study.Hash
}

func newRig(t *testing.T, change func(*study.Proposal)) *rig {
	t.Helper()
	return rigIn(t.TempDir(), change)
}

func newRigOf(t *testing.T, schema string, change func(*study.Proposal)) *rig {
	t.Helper()
	return rigOf(t.TempDir(), schema, change)
}

// rigIn makes the same study and data in every process that calls it.
func rigIn(dir string, change func(*study.Proposal)) *rig { return rigOf(dir, pageYAML, change) }

func rigOf(dir, schemaYAML string, change func(*study.Proposal)) *rig {
	r := &rig{Site: testsite.New(dir, schemaYAML, change)}
	made := r.StudyPlan
	r.hash, r.coordinatorDouble = made.Hash,
		&coordinatorDouble{state: study.Open, pool: made.PoolBytes}
	r.study = protocol.Study{
		Summary: protocol.Summary{Hash: made.Hash, Name: made.Plan.Name, Roster: 3, Minimum: 2},
		Plan:    made.Plan, PlanBytes: made.Canonical, PlanSignature: []byte("signature"),
	}
	r.Config.Poll, r.Config.MaxBackoff, r.Config.MinWindow = 10*time.Millisecond,
		20*time.Millisecond, leastWindow
	return r
}

func (r *rig) agent(t *testing.T) *Agent {
	t.Helper()
	a, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func (r *rig) open() (*Agent, error) {
	a, err := newAgent(r.Config, protocol.Identity{}, "site",
		func(site.Config, protocol.Identity) (link, error) {
			return r.coordinatorDouble, nil
		})
	if err == nil {
		a.preparation.hurry = true
	}
	return a, err
}

func round(t *testing.T, a *Agent) {
	t.Helper()
	if err := a.PollOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	a.SendCharged(context.Background())
}

func charges(t *testing.T, a *Agent, u privacy.Unit) int64 {
	t.Helper()
	totals, err := a.site.Ledger.Totals(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return totals[u].Charges
}

// TestContribute: one study from offer to release, with noise at the site and at the coordinator.
func TestContribute(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*study.Proposal)
		unit   privacy.Unit
	}{
		{"noise at the site", nil, privacy.Record},
		{"noise at the coordinator", func(p *study.Proposal) { p.Mechanism, p.Noise = "tally", study.NoiseCoordinator }, privacy.Record},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, test.change)
			a := r.agent(t)
			round(t, a)
			round(t, a)
			if len(r.bodies) != 1 {
				t.Fatalf("%d uploads, want 1; log:\n%s", len(r.bodies), r.Log)
			}
			table, err := auxdata.ReadCSV(r.pool, r.study.Plan.Pool)
			if err != nil {
				t.Fatal(err)
			}
			pool, _, err := auxdata.New(r.study.Plan.Schema, r.study.Plan.Map, table)
			if err != nil {
				t.Fatal(err)
			}
			task, err := kinds.NewTask(r.study.Plan, pool)
			if err != nil {
				t.Fatal(err)
			}
			checker, err := study.NewChecker(task)
			if err != nil {
				t.Fatal(err)
			}
			if err := checker.Check(r.stored); err != nil {
				t.Errorf("an aggregator refuses the upload: %v", err)
			}
			if n := charges(t, a, test.unit); n != 1 {
				t.Errorf("the ledger holds %d charges, want 1", n)
			}
			r.state = study.Released
			round(t, a)
			if d := a.site.Studies.Folder(r.hash); !d.Has(site.FileRelease) ||
				!d.Has(site.FileReceipt) {
				t.Error("receipt or release was not kept")
			}
			if strings.Contains(r.Log.String(), planted) ||
				strings.Contains(r.Log.String(), "martian") {
				t.Errorf("a record reached the log:\n%s", r.Log)
			}
		})
	}
}

// TestReceiptOfSomethingElse: a receipt for another study, party or upload is not stored, and the
// same bytes are sent again.
func TestReceiptOfSomethingElse(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	for n, lie := range []func(*protocol.Receipt){
		func(r *protocol.Receipt) { r.Plan[0]++ }, func(r *protocol.Receipt) { r.Party = "another" }, func(r *protocol.Receipt) { r.Body[31]++ }, nil,
	} {
		r.lie = lie
		round(t, a)
		round(t, a)
		if has := a.site.Studies.Folder(r.hash).Has(site.FileReceipt); has != (lie == nil) ||
			len(r.bodies) <= n {
			t.Errorf("lie %d: the receipt is kept: %v, after %d uploads; log:\n%s", n, has, len(r.bodies), r.Log)
		}
	}
}

// TestPatience: the agent waits for a coordinator that is down, and stops on request.
func TestPatience(t *testing.T) {
	r := newRig(t, nil)
	r.down = fmt.Errorf("%w: connection refused", protocol.ErrUnavailable)
	a := r.agent(t)
	if err := a.PollOnce(context.Background()); !errors.Is(err, protocol.ErrUnavailable) {
		t.Fatalf("round = %v, want ErrUnavailable", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waits := 0
	a.jitter = func(d time.Duration) time.Duration {
		if waits++; waits == 2 { // the first is before the first poll
			cancel()
		}
		return d
	}
	if err := a.Run(ctx); err != nil {
		t.Errorf("run = %v, want nil after being told to stop", err)
	}
	if !strings.Contains(r.Log.String(), "tries again") {
		t.Errorf("the log does not say that the agent tries again:\n%s", r.Log)
	}
}

// TestEditedConfiguration: an edited configuration ends the run, so that an agent with the new one
// takes its place. One that cannot be read changes nothing, and the log says so once.
func TestEditedConfiguration(t *testing.T) {
	r := newRig(t, nil)
	looks := 0
	r.Config.Edited = func() (bool, error) {
		looks++
		if looks < 4 {
			return false, errors.New("line 7: no such key")
		}
		return true, nil
	}
	a := r.agent(t)
	a.jitter = func(time.Duration) time.Duration { return time.Millisecond }
	if err := a.Run(context.Background()); !errors.Is(err, ErrEdited) || looks != 4 {
		t.Errorf("run = %v after %d looks, want ErrEdited after 4", err, looks)
	}
	if said := strings.Count(r.Log.String(), "goes on by what it read before: line 7"); said != 1 {
		t.Errorf("the log says %d times that the configuration cannot be read:\n%s", said, r.Log)
	}
}

// TestRefusals: a refused study costs nothing, and the coordinator gets no contribution.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*rig)
		log    string
	}{
		{"policy", func(r *rig) { r.Config.Policy.Mechanisms = nil }, "policy does not allow"},
		{"a person has not approved", func(r *rig) { r.Config.Policy.Approval = policy.ApproveByPerson }, "a person must approve"},
		{"ledger", func(r *rig) {
			r.Config.Policy.TotalLimit[privacy.Record] = privacy.Budget{Epsilon: 0.5, Delta: 1e-5}
		}, "ledger refuses"},
		{"another schema", func(r *rig) {
			own := strings.Replace(pageYAML, "max: 100", "max: 120", 1)
			if err := errors.Join(os.WriteFile(r.Config.Data["ward"].Schema, []byte(own), 0o600),
				r.Declare()); err != nil {
				panic(err)
			}
		}, "do not go together"},
		{"no such source", func(r *rig) { r.Config.Data = nil }, `data source \"ward\"`},
		{"not declared", func(r *rig) { os.RemoveAll(filepath.Join(r.Config.State, "sources")) }, "caucus agent source declare ward"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			test.change(r)
			a := r.agent(t)
			round(t, a)
			round(t, a)
			if len(r.bodies) != 0 {
				t.Error("something was sent")
			}
			if n := charges(t, a, privacy.Record); n != 0 {
				t.Errorf("%d charges, want none", n)
			}
			// A refusal is sent once; waiting for a person is not sent.
			want := 0
			if test.name == "policy" || test.name == "ledger" || test.name == "another schema" {
				want = 1
			}
			if r.declined != want {
				t.Errorf("declined %d times, want %d", r.declined, want)
			}
			if n := strings.Count(r.Log.String(), test.log); n != 1 {
				t.Errorf("the log says %q %d times, want once:\n%s", test.log, n, r.Log)
			}
		})
	}
}

// TestDeltaOfTheDeclaration: a δ that could publish one of the site's own records is refused,
// whatever numbers of records and sites the plan states, and whatever the policy allows; only the
// records that the plan uses count. A δ that suits the largest site passes.
func TestDeltaOfTheDeclaration(t *testing.T) {
	for name, c := range map[string]struct {
		delta   float64
		plan    func(*study.Proposal)
		refused bool
	}{
		"records 1, minimum 2":                                 {.05, func(p *study.Proposal) {}, true},
		"one over ten times the 61 records that were declared": {1. / 610, func(p *study.Proposal) {}, false},
		"a little more":                                        {1.01 / 610, func(p *study.Proposal) {}, true},
		"of ten records that count": {1. / 100, func(p *study.Proposal) {
			p.Kind, p.Mechanism, p.Noise, p.KindTerms = "describe", "gaussian", study.NoiseSite, []byte(`{"bins":4,"per_party":10}`)
		}, false},
		"of eleven that count": {1. / 100, func(p *study.Proposal) {
			p.Kind, p.Mechanism, p.Noise, p.KindTerms = "describe", "gaussian", study.NoiseSite, []byte(`{"bins":4,"per_party":11}`)
		}, true},
		"a party's, of three": {1. / 30, func(p *study.Proposal) { p.Unit, p.Mechanism, p.Noise = privacy.Party, "tally", study.NoiseCoordinator }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(p *study.Proposal) {
				p.Records, p.Minimum, p.Delta = 1, 2, &c.delta
				c.plan(p)
			})
			wide := privacy.Budget{Epsilon: 5, Delta: .2}
			r.Config.Policy.StudyLimit = map[privacy.Unit]privacy.Budget{privacy.Record: wide,
				privacy.Party: wide}
			r.Config.Policy.TotalLimit = map[privacy.Unit]privacy.Budget{privacy.Record: wide}
			r.Config.Policy.Kinds, r.Config.Policy.Mechanisms = []string{"classify",
				"describe"}, []string{"cross", "tally", "gaussian"}
			a := r.agent(t)
			preview, _, err := a.Preview(t.Context(), "illness")
			if err != nil || preview.Allowed == c.refused {
				t.Errorf("a preview says %v, %q, %v", preview.Allowed, preview.Objections, err)
			}
			round(t, a)
			said := strings.Contains(r.Log.String(), "it would allow giving a whole unit away")
			if n := charges(t, a, privacy.Record); (n == 0) != c.refused ||
				(r.declined > 0) != c.refused || said != c.refused {
				t.Errorf("%d charges, declined %d times; log:\n%s", n, r.declined, r.Log)
			}
		})
	}
}

// TestApproval: the policy requires a person, who looks and approves.
func TestApproval(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.Approval = policy.ApproveByPerson
	a := r.agent(t)
	round(t, a)
	before, offline, err := a.Preview(context.Background(), "illness")
	if err != nil || offline != nil {
		t.Fatal(err, offline)
	}
	if before.Progress != desk.ProgressWaiting || !before.Allowed || before.UploadBytes == 0 ||
		before.UploadBytesExact || before.Records != 61 {
		t.Errorf("preview before approval: %+v", before)
	}
	var text strings.Builder
	if err := before.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"allows it once a person approves", "ε = 1",
		"each record is hidden", "own noise", "martian"} {
		if strings.Contains(text.String(), want) != (want != "martian") {
			t.Errorf("preview and %q:\n%s", want, text.String())
		}
	}
	if _, err := a.Approve(context.Background(), before.Plan.String()[:8],
		desk.Approver{}); err != nil {
		t.Fatal(err)
	}
	round(t, a)
	after, _, err := a.Preview(context.Background(), "illness")
	if err != nil || after.Progress != desk.ProgressReceived || !after.UploadBytesExact ||
		after.UploadBytes != len(r.stored) {
		t.Errorf("preview after: %v %+v", err, after)
	}
	if after.Budgets[0].SpentBefore == nil || *after.Budgets[0].SpentBefore <= 0 ||
		*after.Budgets[0].SpentBefore != *after.Budgets[0].SpentAfter {
		t.Errorf("the ledger after: %+v", after.Budgets)
	}
}

// TestRefusedCannotBeApproved: a person cannot overrule the policy.
func TestRefusedCannotBeApproved(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.Approval = policy.ApproveByPerson
	r.Config.Policy.StudyLimit[privacy.Record] = privacy.Budget{Epsilon: 0.5, Delta: 1e-6}
	a := r.agent(t)
	if _, err := a.Approve(context.Background(), "illness", desk.Approver{}); err == nil ||
		!strings.Contains(err.Error(), "0.5") {
		t.Fatalf("approve = %v, want a refusal that names the limit", err)
	}
	if by, _ := a.site.Approvers(a.site.Studies.Folder(r.hash), r.hash, r.study.Plan); len(by) > 0 {
		t.Error("the refused study is approved")
	}
}

// TestClosed: a contribution that the coordinator refuses for good is not sent again.
func TestClosed(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*rig)
		sent   bool
		spent  int64
	}{
		{"sealed without this site", func(r *rig) { r.state = study.Sealed }, false, 0},
		{"restored from a backup", func(r *rig) { r.stored = []byte("what was sent before") }, false, 1},
		{"refused for good", func(r *rig) { r.refuse = study.ErrDifferentPlan }, true, 1},
		{"bytes that do not parse there", func(r *rig) { r.refuse = protocol.ErrInvalid }, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			test.change(r)
			a := r.agent(t)
			round(t, a)
			round(t, a)
			d := a.site.Studies.Folder(r.hash)
			if !d.Has(site.FileClosed) || d.Has(site.FileUpload) != test.sent {
				t.Errorf("closed %v, upload %v, want true, %v", d.Has(site.FileClosed),
					d.Has(site.FileUpload), test.sent)
			}
			if n := charges(t, a, privacy.Record); n != test.spent || len(r.bodies) != 0 {
				t.Errorf("%d charges, %d uploads, want %d and 0", n, len(r.bodies), test.spent)
			}
		})
	}
}

// TestDraftAgain: a coordinator restored to before it opened a study refuses the contribution. The
// agent waits, and sends the same bytes once the study is open again, or closes it when the study
// ends without them.
func TestDraftAgain(t *testing.T) {
	for _, over := range []bool{false, true} {
		r := newRig(t, nil)
		a := r.agent(t)
		r.refuse = study.ErrNotOpen // restored between the list and the upload
		round(t, a)
		d := a.site.Studies.Folder(r.hash)
		body, err := d.Read(site.FileUpload)
		if err != nil || d.Has(site.FileClosed) {
			t.Fatalf("upload %v, closed %v", err, d.Has(site.FileClosed))
		}
		r.state = study.Draft
		round(t, a)
		if d.Has(site.FileClosed) {
			t.Fatal("a study that is a draft again was given up")
		}
		if over {
			r.state = study.Failed
			round(t, a)
			if !d.Has(site.FileClosed) || len(r.bodies) != 0 {
				t.Errorf("closed %v, %d uploads after it failed", d.Has(site.FileClosed),
					len(r.bodies))
			}
			continue
		}
		r.state, r.refuse = study.Open, nil
		round(t, a)
		if len(r.bodies) != 1 || !bytes.Equal(r.stored, body) ||
			charges(t, a, privacy.Record) != 1 {
			t.Errorf("%d uploads, the same bytes %v, %d charges", len(r.bodies),
				bytes.Equal(r.stored, body), charges(t, a, privacy.Record))
		}
	}
}

// TestOtherPlan: a plan with another hash than asked for is refused.
func TestOtherPlan(t *testing.T) {
	r := newRig(t, nil)
	other := newRig(t, func(p *study.Proposal) { p.Epsilon = 0.5 })
	r.study.Plan, r.study.PlanBytes = other.study.Plan, other.study.PlanBytes
	round(t, r.agent(t))
	if len(r.bodies) != 0 || !strings.Contains(r.Log.String(), "another plan") {
		t.Errorf("%d uploads; log:\n%s", len(r.bodies), r.Log)
	}
}

// TestOneAgentAState: two agents must not run on one state folder.
func TestOneAgentAState(t *testing.T) {
	r := newRig(t, nil)
	unlock, err := folder.LockForDaemon(mkdir(t, r.Config.State), "another agent")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := r.agent(t).Run(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "another agent runs") {
		t.Errorf("run = %v, want a refusal", err)
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSkew: a wrong clock is reported once, and stops nothing.
func TestSkew(t *testing.T) {
	r := newRig(t, nil)
	r.skew = time.Hour
	a := r.agent(t)
	round(t, a)
	round(t, a)
	if n := strings.Count(r.Log.String(), "clock is off"); n != 1 || len(r.bodies) != 1 {
		t.Errorf("said %d times, %d uploads; want 1 and 1:\n%s", n, len(r.bodies), r.Log)
	}
}

// TestDiskFails: if the upload cannot be stored nothing is sent; once the disk works again the
// study goes on, charged once.
func TestDiskFails(t *testing.T) {
	r := newRig(t, nil)
	dir := filepath.Join(r.Config.State, "studies", r.hash.String())
	r.Config.Checkpoint = func(effect string) {
		if effect != "charged" {
			return
		}
		if err := errors.Join(os.Rename(dir, dir+".away"),
			os.WriteFile(dir, nil, 0o600)); err != nil {
			t.Error(err)
		}
	}
	a := r.agent(t)
	round(t, a)
	if len(r.bodies) != 0 {
		t.Fatal("it sent what it had not stored")
	}
	a.site.Config.Checkpoint = nil
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	round(t, a)
	if len(r.bodies) != 1 || charges(t, a, privacy.Record) != 1 {
		t.Errorf("%d uploads, %d charges, want 1 and 1", len(r.bodies),
			charges(t, a, privacy.Record))
	}
}

// TestOverBudget: a study that would pass the limit is refused, and one that fits still goes
// through.
func TestOverBudget(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.TotalLimit[privacy.Record] = privacy.Budget{Epsilon: 1.1, Delta: 1e-5}
	a := r.agent(t)
	round(t, a)
	second := newRig(t, func(p *study.Proposal) { p.Name = "again" })
	second.Config.State, second.Config.Policy, second.Config.Data = r.Config.State, r.Config.Policy,
		r.Config.Data
	b := second.agent(t)
	round(t, b)
	if len(r.bodies) != 1 || len(second.bodies) != 0 {
		t.Errorf("%d and %d uploads, want 1 and 0", len(r.bodies), len(second.bodies))
	}
	preview, _, err := b.Preview(context.Background(), "again")
	if err != nil || preview.Allowed ||
		!strings.Contains(strings.Join(preview.Objections, " "), "left at unit record") {
		t.Errorf("preview of the study that does not fit: %v %v", err, preview.Objections)
	}
}

func (r *rig) change(f func(*study.Plan)) {
	f(&r.study.Plan)
	canonical, err := r.study.Plan.Canonical()
	if err != nil {
		panic(err)
	}
	r.hash = study.HashOf(canonical)
	r.study.PlanBytes, r.study.Hash = canonical, r.hash
}
