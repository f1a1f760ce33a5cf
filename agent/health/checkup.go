package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/protocol"
)

// Check looks at all that an agent of this configuration needs: what LoadConfig
// returned. It asks the coordinator for its list of studies, as each poll does,
// before it reads a source, so that nothing it says hangs on what is read; it
// spends and declares nothing.
func Check(ctx context.Context, c site.Config, path string, err error) Checkup {
	if err != nil {
		return checkupOf([]Result{problem("config", "%v", err)})
	}
	c.Clock = c.Clock.Complete()
	all := []Result{fine("config", "%s", path)}
	id, party, err := site.Identity(c)
	if err != nil {
		all = append(all, problem("certificate", "%v", err), checkPolicy(c.Policy))
		return checkupOf(append(all, CheckSources(c.Sources(), true)...))
	}
	s, err := site.Open(c, party)
	if err != nil {
		all = append(all, checkCertificate(id, c.Now()), checkPolicy(c.Policy), problem("ledger", "%v", err), checkDisk(c.State))
		return checkupOf(append(append(all, askCoordinator(ctx, c, id)...), CheckSources(c.Sources(), true)...))
	}
	defer s.Close()
	all = append(all, checkFolder(ctx, s, id)...)
	all = append(all, askCoordinator(ctx, c, id)...)
	return checkupOf(append(all, CheckSources(c.Sources(), true)...))
}

// Locally is what an agent says when it starts: of Check what needs neither
// the network nor a look into a file. When a poll comes must not hang on how long
// a file took to read; files are read in windows (window has the proof), and when
// a person asks.
func Locally(ctx context.Context, s *site.Site, id protocol.Identity) []Result {
	return append(checkFolder(ctx, s, id), CheckSources(s.Sources, false)...)
}

// checkFolder looks at what lies in the state folder, and at the policy.
func checkFolder(ctx context.Context, s *site.Site, id protocol.Identity) []Result {
	all := append([]Result{checkCertificate(id, s.Config.Now()), checkPolicy(s.Config.Policy)}, checkHelper(s.Config.Policy.Helper, id)...)
	all = append(all, checkLedger(ctx, s), checkDisk(s.Config.State), Constants(s))
	return append(append(all, checkLearner(s.Config)...), checkScorer(s.Config)...)
}

// checkCertificate says how long an agent's own certificate lasts.
func checkCertificate(id protocol.Identity, now time.Time) Result {
	const about = "certificate"
	from, until, err := id.Validity()
	if err != nil {
		return problem(about, "%v: enrol again with a new invitation", err)
	}
	who, err := id.Caller()
	if err != nil {
		return problem(about, "%v: enrol again with a new invitation", err)
	}
	left := until.Sub(now)
	days := int(left.Hours() / 24)
	switch {
	case left <= 0:
		return problem(about, "it ended on %s: ask the operator for an invitation and enrol again", until.Format(time.DateOnly))
	case now.Before(from):
		return problem(about, "it begins on %s: set this machine's clock", from.Format(time.DateTime))
	case left < until.Sub(from)/6: // a running agent renews it when a third is left
		return warning(about, "for %s, %d days left: an agent that runs renews it by itself; see in its log why it did not", who.Name, days)
	}
	return fine(about, "for %s, %d days left", who.Name, days)
}

// checkPolicy says what the policy allows in short.
func checkPolicy(p policy.Policy) Result {
	for _, list := range []struct {
		name string
		n    int
	}{{"kinds", len(p.Kinds)}, {"mechanisms", len(p.Mechanisms)}, {"noise", len(p.Noise)}, {"study", len(p.Study)}} {
		if list.n == 0 {
			return warning("policy", "it allows no study: name what it allows under policy: %s:", list.name)
		}
	}
	var most []string
	for _, u := range privacy.Units() {
		if b, allowed := p.Study[u]; allowed {
			most = append(most, fmt.Sprintf("ε ≤ %g at unit %s", b.Epsilon, u))
		}
	}
	who := map[string]string{policy.ApproveByPolicy: "nobody is asked", policy.ApproveByPerson: "a person approves", policy.ApproveByTwo: "two persons approve"}[p.Approval]
	return fine("policy", "%s; noise: %s; %s; %s", strings.Join(p.Kinds, ", "), textpage.List(p.Noise), strings.Join(most, ", "), who)
}

// checkHelper says which helper this site trusts, so that a person can hold its keys against
// what the helper's own operator says.
func checkHelper(h policy.Helper, id protocol.Identity) []Result {
	const about = "helper"
	if !h.Named() {
		return nil
	}
	keys, err := id.Keys()
	if err == nil {
		err = h.ApartFrom(keys)
	}
	if err != nil {
		return []Result{problem(about, "%v", err)}
	}
	return []Result{fine(about, "%s", h.Words())}
}

// checkLedger walks the whole ledger, and says what is left of it.
func checkLedger(ctx context.Context, s *site.Site) Result {
	const about = "ledger"
	if _, err := privacy.Verify(ctx, s.Journal); err != nil {
		return problem(about, "%v: see caucus ledger verify", err)
	}
	all, err := s.Spending(ctx)
	if err != nil {
		return problem(about, "%v", err)
	}
	var left []string
	for _, of := range all {
		for _, u := range privacy.Units() {
			most, limited := of.Most[u]
			if !limited {
				continue
			}
			when := ""
			if of.Year != "" {
				when = " for " + of.Year
			}
			spent := of.Spent[u].Epsilon(most.Delta)
			if !(spent < most.Epsilon) {
				return warning(about, "nothing is left%s of ε = %g at unit %s: studies at this unit are refused", when, most.Epsilon, u)
			}
			left = append(left, fmt.Sprintf("ε = %.3g of %g left%s at unit %s", most.Epsilon-spent, most.Epsilon, when, u))
		}
	}
	if len(left) == 0 {
		return fine(about, "whole; the policy limits no total")
	}
	return fine(about, "whole; %s", strings.Join(left, ", "))
}

// What a state folder needs: a study's pool and upload take some megabytes each,
// and what cannot be written is neither charged nor sent.
const (
	littleDisk = 1 << 30
	noDisk     = 64 << 20
)

// checkDisk says whether there is room in the state folder.
func checkDisk(dir string) Result {
	const about = "disk"
	free, err := freeSpace(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fine(about, "how much is free is not known on this system")
	case err != nil:
		return problem(about, "%s: %v", dir, err)
	case free < noDisk:
		return problem(about, "%s: less than 64 MiB are free: make room, nothing can be stored", dir)
	case free < littleDisk:
		return warning(about, "%s: less than 1 GiB is free: make room", dir)
	}
	return fine(about, "%s: %.0f GiB free", dir, float64(free)/(1<<30))
}
