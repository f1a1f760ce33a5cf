//go:build unix

package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"caucus/agent/source"
	"caucus/privacy"
	"caucus/protocol"
)

// certified is an identity whose certificate began at a moment.
func certified(t *testing.T, begins time.Time) protocol.Identity {
	t.Helper()
	authority, err := protocol.NewAuthority(begins)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := authority.IssueOwn("127.0.0.1:7443", protocol.Caller{Name: "site", Role: protocol.RoleParty}, wireSigner().Key(), begins)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestCheckSaysWhatToWrite: of a file that would not be declared, check says what a
// person would write for that to change.
func TestCheckSaysWhatToWrite(t *testing.T) {
	r := newRig(t, nil)
	r.put(t, "age,sex,ill\n"+strings.Repeat("30,weiblich,no\n", 60))
	a := r.agent(t)
	os.RemoveAll(a.state.sources.Dir)
	all := fmt.Sprint(checkSources(a.state.sources, true))
	if !strings.Contains(all, "50% of the cells") || !strings.Contains(all, `60 cells "weiblich" are not a level of sex: add levels:`) {
		t.Errorf("check says %s", all)
	}
}

// TestCheckCertificate: a certificate is good until a sixth of its life is left,
// which a running agent does not let happen.
func TestCheckCertificate(t *testing.T) {
	begins := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id := certified(t, begins)
	from, until, err := id.Validity()
	if err != nil {
		t.Fatal(err)
	}
	life := until.Sub(from)
	for _, test := range []struct {
		now  time.Time
		want Status
		says string
	}{
		{from.Add(-time.Hour), StatusProblem, "set this machine's clock"},
		{from.Add(life / 2), StatusOK, "for site, "},
		{until.Add(-life/6 + time.Hour), StatusWarning, "renews it by itself"},
		{until, StatusProblem, "enrol again"},
	} {
		if got := checkCertificate(id, test.now); got.Status != test.want || !strings.Contains(got.Says, test.says) {
			t.Errorf("at %v: %+v, want %s and %q", test.now, got, test.want, test.says)
		}
	}
	if got := checkCertificate(protocol.Identity{}, begins); got.Status != StatusProblem {
		t.Errorf("no certificate: %+v", got)
	}
}

// TestCheckSkew: what the clocks have to be within is what charges have to be.
func TestCheckSkew(t *testing.T) {
	for skew, want := range map[time.Duration]struct {
		status Status
		says   string
	}{
		0:                           {StatusOK, "within 1s"},
		maxSkew:                     {StatusOK, "within 2m0s"},
		maxSkew + time.Second:       {StatusWarning, "2m1s behind"},
		-maxSkew - time.Second:      {StatusWarning, "2m1s ahead of"},
		maxDatedSkew + time.Second:  {StatusProblem, "nothing is charged"},
		-maxDatedSkew - time.Second: {StatusProblem, "nothing is charged"},
	} {
		if got := checkSkew(skew); got.Status != want.status || !strings.Contains(got.Says, want.says) {
			t.Errorf("%v: %+v, want %+v", skew, got, want)
		}
	}
}

// TestAskLink: whoever answers, or does not, is said with what to do first, and
// the long words of TLS after it.
func TestAskLink(t *testing.T) {
	r := newRig(t, nil)
	got := askLink(context.Background(), r.coordinatorDouble, "caucus.example.org:7443")
	if len(got) != 2 || got[0].Status != StatusOK || !strings.Contains(got[0].Says, "1 studies are open") || got[1].Status != StatusOK {
		t.Errorf("%+v", got)
	}
	long := strings.Repeat("x509 ", 80)
	for _, test := range []struct {
		down error
		says string
	}{
		{fmt.Errorf("%w: %s", protocol.ErrUnavailable, long), "caucus.example.org:7443: the coordinator cannot be reached ("},
		{fmt.Errorf("%w: %s", protocol.ErrDenied, long), "caucus.example.org:7443: the coordinator does not admit this agent: ask its operator ("},
		{protocol.FromStatus(status.Error(codes.Unavailable, "tls: failed to verify certificate: "+long)), "caucus.example.org:7443: whoever answers is not the coordinator that invited this agent, by its certificate: check the address, ask the operator ("},
		{fmt.Errorf("%w: %s", protocol.ErrClock, long), "caucus.example.org:7443: this machine's clock and the certificates disagree: set the clock ("},
		{fmt.Errorf("%w: %s", protocol.ErrExpired, long), "caucus.example.org:7443: this agent's certificate has expired: ask the operator for an invitation and enrol again ("},
	} {
		r.down = test.down
		got := askLink(context.Background(), r.coordinatorDouble, "caucus.example.org:7443")
		if len(got) != 1 || got[0].Status != StatusProblem || !strings.HasPrefix(got[0].Says, test.says) {
			t.Errorf("%v: %+v, want %q first", test.down, got, test.says)
		}
	}
}

// TestCheckSources: what a person has to do about a source is found before a
// study is.
func TestCheckSources(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*testing.T, *rig)
		source   Status
		says     string
		mapping  Status
		unread   Status // where no file is looked into
		declared bool
	}{
		"as declared": {nil, StatusOK, "as it was then: 61 records", StatusOK, StatusOK, true},
		"changed": {func(t *testing.T, r *rig) { r.put(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 70)) },
			StatusWarning, "the file changed since it was declared", StatusOK, StatusOK, true},
		"fewer": {func(t *testing.T, r *rig) { r.put(t, "age,sex,ill\n"+strings.Repeat("30,f,no\n", 7)) },
			StatusWarning, "the file has 7: the others are empty", StatusOK, StatusOK, true},
		"garbage": {func(t *testing.T, r *rig) { r.put(t, "age,sex,ill\n"+strings.Repeat("x,y,z\n", 70)) },
			StatusProblem, "cannot be read as what the schema says", StatusOK, StatusOK, true},
		"other columns": {func(t *testing.T, r *rig) { r.put(t, "age,sex\n30,f\n") },
			StatusProblem, "not those that were declared", StatusOK, StatusOK, true},
		"gone": {func(t *testing.T, r *rig) { os.Remove(r.config.Data["ward"].File) },
			StatusProblem, "no such file", StatusOK, StatusProblem, true},
		"undeclared": {func(t *testing.T, r *rig) { os.RemoveAll(filepath.Join(r.config.State, "sources")) },
			StatusProblem, "studies of it wait: a person has to declare it first: caucus agent source declare ward", StatusOK, StatusProblem, false},
		"undeclared garbage": {func(t *testing.T, r *rig) {
			os.RemoveAll(filepath.Join(r.config.State, "sources"))
			r.put(t, "age,sex,ill\n"+strings.Repeat("x,y,z\n", 70))
		}, StatusProblem, "cannot be read as what the schema says", StatusOK, StatusProblem, false},
		"mapping gone": {func(t *testing.T, r *rig) { r.mapWard(source.MappingSource{File: "nowhere.yaml"}) },
			StatusProblem, "nowhere.yaml", StatusProblem, StatusProblem, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			if test.change != nil {
				test.change(t, r)
			}
			got := checkSources(r.config.Sources(), true)
			if len(got) != 2 || got[0].Status != test.source || !strings.Contains(got[0].Says, test.says) || got[1].Status != test.mapping {
				t.Errorf("%+v, want %s and %q, and %s", got, test.source, test.says, test.mapping)
			}
			if got := checkSources(r.config.Sources(), false); got[0].Status != test.unread {
				t.Errorf("without a look into it: %+v, want %s", got[0], test.unread)
			}
			if strings.Contains(fmt.Sprint(got), planted) {
				t.Errorf("a cell is shown: %+v", got)
			}
		})
	}
}

// TestStartLooksIntoNoFile: what an agent says of itself when it starts is the same
// whatever its sources hold, and takes no look into them: when its first poll
// comes would tell how long a file takes to read.
func TestStartLooksIntoNoFile(t *testing.T) {
	r := newRig(t, nil)
	pipe := r.pipe(t)
	a := r.agent(t)
	done := make(chan []CheckResult)
	go func() { done <- a.state.checkLocally(context.Background(), certified(t, time.Now())) }()
	var said []CheckResult
	for said == nil {
		if isOpen(t, pipe) { // and closed again, so that who reads it comes to an end
			t.Error("the file was opened")
		}
		select {
		case said = <-done:
		case <-time.After(time.Millisecond):
		}
	}
	for _, f := range said {
		if f.Status != StatusOK {
			t.Errorf("%+v", f)
		}
	}
}

// TestCheckLedger: a ledger that is spent is a warning, a damaged one a problem.
func TestCheckLedger(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	if got := a.state.checkLedger(context.Background()); got.Status != StatusOK || !strings.Contains(got.Says, "ε = 2 of 2 left at unit record") {
		t.Errorf("fresh: %+v", got)
	}
	round(t, a)
	if got := a.state.checkLedger(context.Background()); got.Status != StatusOK || !strings.Contains(got.Says, "of 2 left at unit record") || strings.Contains(got.Says, "ε = 2 of") {
		t.Errorf("after a study: %+v", got)
	}
	a.state.config.Policy.Total[privacy.Record] = privacy.Budget{Epsilon: 0.1, Delta: 1e-5}
	if got := a.state.checkLedger(context.Background()); got.Status != StatusWarning || !strings.Contains(got.Says, "nothing is left") {
		t.Errorf("spent: %+v", got)
	}
}

// TestCheckPolicy: a policy that allows nothing is said.
func TestCheckPolicy(t *testing.T) {
	if got := checkPolicy(DefaultPolicy()); got.Status != StatusWarning || !strings.Contains(got.Says, "kinds") {
		t.Errorf("%+v", got)
	}
	if got := checkPolicy(newRig(t, nil).config.Policy); got.Status != StatusOK {
		t.Errorf("%+v", got)
	}
}
