package health

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

// TestCheckCertificate: a certificate is fine until a sixth of its life is left; a running agent
// renews it earlier.
func TestCheckCertificate(t *testing.T) {
	begins := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	authority, err := server.NewAuthority(begins)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := protocol.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := authority.IssueFirstOperator("127.0.0.1:7443",
		protocol.Caller{Name: "site", Role: protocol.RoleParty}, signer.Key(), begins)
	if err != nil {
		t.Fatal(err)
	}
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
		{from.Add(-time.Hour), Problem, "set this machine's clock"},
		{from.Add(life / 2), OK, "for site, "},
		{until.Add(-life/6 + time.Hour), Warning, "renews it by itself"},
		{until, Problem, "enrol again"},
	} {
		if got := checkCertificate(id, test.now); got.Status != test.want ||
			!strings.Contains(got.Text, test.says) {
			t.Errorf("at %v: %+v, want %s and %q", test.now, got, test.want, test.says)
		}
	}
	if got := checkCertificate(protocol.Identity{}, begins); got.Status != Problem {
		t.Errorf("no certificate: %+v", got)
	}
}

// TestCheckSkew: clocks may differ as much as for charges.
func TestCheckSkew(t *testing.T) {
	for skew, want := range map[time.Duration]struct {
		status Status
		says   string
	}{
		0:                               {OK, "within 1s"},
		MaxSkew:                         {OK, "within 2m0s"},
		MaxSkew + time.Second:           {Warning, "2m1s behind"},
		-MaxSkew - time.Second:          {Warning, "2m1s ahead of"},
		site.MaxYearSkew + time.Second:  {Problem, "nothing is charged"},
		-site.MaxYearSkew - time.Second: {Problem, "nothing is charged"},
	} {
		if got := checkSkew(skew); got.Status != want.status ||
			!strings.Contains(got.Text, want.says) {
			t.Errorf("%v: %+v, want %+v", skew, got, want)
		}
	}
}

type listed struct {
	listing protocol.Listing
	down    error
}

func (l *listed) Studies(context.Context) (protocol.Listing, error) { return l.listing, l.down }

// TestAskLink: the result says first what to do, then gives the long TLS error.
func TestAskLink(t *testing.T) {
	r := &listed{listing: protocol.Listing{Studies: []protocol.Summary{{State: study.Open}}}}
	got := askLink(context.Background(), r, "caucus.example.org:7443")
	if len(got) != 2 || got[0].Status != OK ||
		!strings.Contains(got[0].Text, "1 studies are open") || got[1].Status != OK {
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
		got := askLink(context.Background(), r, "caucus.example.org:7443")
		if len(got) != 1 || got[0].Status != Problem || !strings.HasPrefix(got[0].Text, test.says) {
			t.Errorf("%v: %+v, want %q first", test.down, got, test.says)
		}
	}
}

// TestCheckPolicy: a policy that allows nothing gives a warning.
func TestCheckPolicy(t *testing.T) {
	if got := checkPolicy(policy.DefaultPolicy()); got.Status != Warning ||
		!strings.Contains(got.Text, "kinds") {
		t.Errorf("%+v", got)
	}
	most := map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-6}}
	allowing := policy.Policy{Kinds: []string{"classify"}, Mechanisms: []string{"cross"},
		Noise: []study.Noise{study.NoiseSite}, StudyLimit: most, TotalLimit: most}
	if got := checkPolicy(allowing); got.Status != OK {
		t.Errorf("%+v", got)
	}
	allowing.TotalLimit = map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 30, Delta: 1e-4}}
	if got := checkPolicy(allowing); !strings.Contains(got.Text, "total: ε = 30 promises little") ||
		strings.Contains(got.Text, "study: ε") {
		t.Errorf("of a total of 30: %+v", got)
	}
}

// TestCheckLearner: a missing program is a problem; a program that no study will use gives a
// warning.
func TestCheckLearner(t *testing.T) {
	var c site.Config
	c.Policy.Learners = []string{"any"}
	c.Learner.Command = []string{"not-a-program-at-all"}
	if f := checkLearner(c); len(f) != 1 || f[0].Status != Problem {
		t.Errorf("check says %+v", f)
	}
	c.Learner.Command, c.Policy.Learners = []string{os.Args[0]}, nil
	if f := checkLearner(c); len(f) != 1 || f[0].Status != Warning ||
		!strings.Contains(f[0].Text, "no study will use it") {
		t.Errorf("check says %+v", f)
	}
}

// TestSilentIsNotAsked: while a contribution is prepared on the folder, no check calls the
// coordinator.
func TestSilentIsNotAsked(t *testing.T) {
	c := site.DefaultConfig()
	c.State = t.TempDir()
	release, err := folder.LockFile(site.CallLockFile(c))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if found := askCoordinator(t.Context(), c, protocol.Identity{}); len(found) != 1 ||
		found[0].Status != OK || !strings.Contains(found[0].Text, "not asked") {
		t.Errorf("check says %+v", found)
	}
}
