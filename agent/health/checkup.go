package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/internal/folder"
	"caucus/internal/textpage"
	"caucus/learners"
	"caucus/learners/command"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Check checks everything that an agent with this configuration needs. path is the configuration's
// file, and err the error of loading it. Check asks the coordinator for its list of studies, as
// each poll does, and reads a source only afterwards, so that nothing it sends depends on the file.
// It spends and declares nothing.
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
		about := "ledger"
		if errors.Is(err, folder.ErrOthersMayWrite) {
			about = "state"
		}
		all = append(all, checkCertificate(id, c.Now()), checkPolicy(c.Policy),
			problem(about, "%v", err), checkDisk(c.State))
		return checkupOf(append(append(all, askCoordinator(ctx, c, id)...),
			CheckSources(c.Sources(), true)...))
	}
	defer s.Close()
	all = append(all, checkFolder(ctx, s, id)...)
	all = append(all, askCoordinator(ctx, c, id)...)
	return checkupOf(append(all, CheckSources(c.Sources(), true)...))
}

// CheckLocal is the part of Check that an agent runs at its start. It uses no network and opens no
// source's file, because the time of a poll must not depend on the time to read a file. Files are
// read only in windows (window has the proof), and when a person asks.
func CheckLocal(ctx context.Context, s *site.Site, id protocol.Identity) []Result {
	return append(checkFolder(ctx, s, id), CheckSources(s.Sources, false)...)
}

func checkFolder(ctx context.Context, s *site.Site, id protocol.Identity) []Result {
	all := append([]Result{checkCertificate(id, s.Config.Now()), checkPolicy(s.Config.Policy)},
		checkHelper(s.Config.Policy.Helper, id)...)
	all = append(all, checkLedger(ctx, s), checkDisk(s.Config.State), CheckReplacedContributions(s))
	return append(append(all, checkLearner(s.Config)...), checkScorer(s.Config)...)
}

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
		return problem(about, "it begins on %s: set this machine's clock",
			from.Format(time.DateTime))
	// a running agent renews the certificate when a third of its life is left
	case left < until.Sub(from)/6:
		return warning(about, "for %s, %d days left: an agent that runs renews it by itself; see in its log why it did not", who.Name, days)
	}
	return fine(about, "for %s, %d days left", who.Name, days)
}

func checkPolicy(p policy.Policy) Result {
	for _, list := range []struct {
		name string
		n    int
	}{{"kinds", len(p.Kinds)}, {"mechanisms", len(p.Mechanisms)}, {"noise", len(p.Noise)},
		{"study", len(p.StudyLimit)}} {
		if list.n == 0 {
			return warning("policy", "it allows no study: name what it allows under policy: %s:", list.name)
		}
	}
	var most, little []string
	for _, u := range privacy.Units() {
		if b, allowed := p.StudyLimit[u]; allowed {
			most = append(most, fmt.Sprintf("ε ≤ %g at unit %s", b.Epsilon, u))
		}
		for _, of := range []struct {
			name  string
			limit map[privacy.Unit]privacy.Budget
		}{{"study", p.StudyLimit}, {"total", p.TotalLimit}, {"year", p.YearLimit}} {
			if words := privacy.EpsilonWords(u, of.limit[u].Epsilon); words != "" {
				little = append(little, of.name+": "+words)
			}
		}
	}
	who := map[string]string{policy.ApproveByPolicy: "no person has to approve",
		policy.ApproveByPerson: "a person approves",
		policy.ApproveByTwo:    "two persons approve"}[p.Approval]
	return fine("policy", "%s", strings.Join(append([]string{strings.Join(p.Kinds, ", "),
		"noise: " + textpage.List(p.Noise), strings.Join(most, ", "), who}, little...), "; "))
}

func checkHelper(h policy.Helper, id protocol.Identity) []Result {
	const about = "helper"
	if !h.Configured() {
		return nil
	}
	keys, err := id.Keys()
	if err == nil {
		err = h.RefuseKeys(keys)
	}
	if err != nil {
		return []Result{problem(about, "%v", err)}
	}
	return []Result{fine(about, "%s", h.Words())}
}

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
	for _, spending := range all {
		for _, u := range privacy.Units() {
			most, limited := spending.Most[u]
			if !limited {
				continue
			}
			when := ""
			if spending.Year != "" {
				when = " for " + spending.Year
			}
			spent := spending.Spent[u].Epsilon(most.Delta)
			if !(spent < most.Epsilon) {
				return warning(about, "nothing is left%s of ε = %g at unit %s: studies at this unit are refused", when, most.Epsilon, u)
			}
			left = append(left, fmt.Sprintf("ε = %.3g of %g left%s at unit %s", most.Epsilon-spent,
				most.Epsilon, when, u))
		}
	}
	if len(left) == 0 {
		return fine(about, "whole; the policy limits no total")
	}
	return fine(about, "whole; %s", strings.Join(left, ", "))
}

// With less than littleDisk bytes free, a check warns; with less than noDisk, it fails. A study's
// pool and upload take some megabytes each. A contribution that cannot be written is neither
// charged nor sent.
const (
	littleDisk = 1 << 30
	noDisk     = 64 << 20
)

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

const patience = 10 * time.Second

// askCoordinator checks that the coordinator answers and invited this site, and that both clocks
// agree.
func askCoordinator(ctx context.Context, c site.Config, id protocol.Identity) []Result {
	if c.Courier {
		return []Result{fine("coordinator", "is not called (courier: true): what would be sent is carried in files")}
	}
	hungUp, err := site.LockCalls(c)
	if errors.Is(err, site.ErrCallsLocked) {
		return []Result{fine("coordinator", "is not asked: %v", err)}
	}
	if err != nil {
		return []Result{problem("coordinator", "%v", err)}
	}
	defer hungUp()
	l, err := site.Dial(c, id)
	if err != nil {
		return []Result{problem("coordinator", "%v", err)}
	}
	defer l.Close()
	return askLink(ctx, l, cmp.Or(c.Coordinator, id.Coordinator))
}

type lister interface {
	Studies(context.Context) (protocol.Listing, error)
}

func askLink(ctx context.Context, l lister, address string) []Result {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	listing, err := l.Studies(ctx)
	if err != nil {
		// The advice comes before the error, because TLS errors are long.
		why, _, _ := strings.Cut(ExplainError(err), ";")
		return []Result{problem("coordinator", "%s: %s (%v)", address, why, err)}
	}
	open := 0
	for _, s := range listing.Studies {
		if s.State == study.Open {
			open++
		}
	}
	found := fine("coordinator", "%s answers, with the certificate that was expected; %d studies are open", address, open)
	switch {
	case listing.CoordinatorRestored != nil:
		found = problem("coordinator", "%v; tell its operator (docs/verify.md)",
			listing.CoordinatorRestored)
	case listing.HelperRestored != nil:
		found = problem("coordinator", "%v; tell its operator (docs/verify.md)",
			listing.HelperRestored)
	case listing.StoreError != nil:
		found = warning("coordinator", "%v", listing.StoreError)
	}
	return []Result{found, checkSkew(listing.Skew)}
}

func checkSkew(skew time.Duration) Result {
	const about = "clock"
	where := "behind"
	if skew < 0 {
		where = "ahead of"
	}
	off := skew.Abs().Round(time.Second)
	switch {
	case skew.Abs() > site.MaxYearSkew:
		return problem(about, "%v %s the coordinator's: set it; nothing is charged until they agree within %v", off, where, site.MaxYearSkew)
	case skew.Abs() > MaxSkew:
		return warning(about, "%v %s the coordinator's: set it", off, where)
	}
	return fine(about, "as the coordinator's, within %v", max(off, time.Second))
}

// ExplainError explains a failed round to readers of the log.
func ExplainError(err error) string {
	switch {
	case errors.Is(err, protocol.ErrClock):
		return "this machine's clock and the certificates disagree: set the clock; the agent tries again"
	case errors.Is(err, protocol.ErrExpired):
		return "this agent's certificate has expired: ask the operator for an invitation and enrol again"
	case errors.Is(err, protocol.ErrDenied) &&
		strings.Contains(err.Error(), "is not the coordinator that invited"):
		return "whoever answers is not the coordinator that invited this agent, by its certificate: check the address, ask the operator; nothing is sent, the agent tries again"
	case errors.Is(err, protocol.ErrDenied):
		return "the coordinator does not admit this agent: ask its operator; the agent tries again"
	}
	return "the coordinator cannot be reached; nothing is lost, the agent tries again"
}

// MaxSkew is the largest tolerated difference of clocks. Certificates live for months, and
// deadlines are hours away.
const MaxSkew = 2 * time.Minute

func checkScorer(c site.Config) []Result {
	const about = "scorer"
	if !c.Scorer.Configured() {
		return nil
	}
	if err := c.Scorer.Check(); err != nil {
		return []Result{problem(about, "%v: correct scorer: command:", err)}
	}
	if !slices.Contains(c.Policy.AllowedLearners(), learners.AnyClassifier) {
		return []Result{warning(about, "%s, but no study will use it: the policy allows learners %s; studies that let a site choose are named any", c.Scorer, textpage.List(c.Policy.AllowedLearners()))}
	}
	if !command.CanLimitMemory {
		return []Result{warning(about, "%s; how much memory it takes is not limited on this system", c.Scorer)}
	}
	return []Result{fine(about, "%s", c.Scorer)}
}

func checkLearner(c site.Config) []Result {
	const about = "learner"
	l := c.Learner
	if !l.Configured() && l.Name == "" {
		return nil
	}
	if l.Configured() {
		if err := l.Check(); err != nil {
			return []Result{problem(about, "%v: correct learner: command:", err)}
		}
	}
	switch {
	case !slices.Contains(c.Policy.AllowedLearners(), learners.AnyClassifier):
		return []Result{warning(about, "%s, but no study will use it: the policy allows learners %s; studies that let a site choose are named any", l, textpage.List(c.Policy.AllowedLearners()))}
	case l.Configured() && !command.CanLimitMemory:
		return []Result{warning(about, "%s; how much memory it takes is not limited on this system", l)}
	}
	return []Result{fine(about, "%s", l)}
}

// CheckSources checks all sources, and opens their files only if read is true.
func CheckSources(s source.Sources, read bool) []Result {
	names := slices.Sorted(maps.Keys(s.ByName))
	if len(names) == 0 {
		return []Result{warning("sources", "there are none: name files of records under data:")}
	}
	var all []Result
	for _, name := range names {
		var r source.Report
		if read {
			r = s.Check(context.Background(), name)
		} else if r = s.Report(name); r.Declared != nil &&
			r.Declared.Redeclare == source.RedeclareDaily {
			if _, err := os.Stat(r.File); err != nil {
				r.Problem = err.Error()
			}
		}
		all = append(all, checkSource(r), checkMapping(s, r))
	}
	return all
}

const mostRemarks = 3 // "caucus agent source declare" and "caucus agent check --source" show all

func checkSource(r source.Report) Result {
	about := "source " + r.Source
	switch {
	case r.Declared == nil && r.Problem != "":
		return problem(about, "%s",
			strings.Join(append([]string{r.Problem},
				r.Remarks[:min(mostRemarks, len(r.Remarks))]...), "; "))
	case r.Declared == nil:
		return problem(about, "no study can use it yet: %s",
			strings.TrimPrefix(r.WaitReason,
				source.ErrUndeclared.Error()+": source "+r.Source+": "))
	case r.Problem != "":
		return problem(about, "%s; see caucus agent check --source %s", r.Problem, r.Source)
	case !r.Read:
		return fine(about, "declared with %s", textpage.Count(r.Declared.Records, "record"))
	case r.Found < r.Declared.Records:
		return warning(about, "declared with %s, the file has %d: the others are empty; declare it again if that stays so", textpage.Count(r.Declared.Records, "record"), r.Found)
	}
	now := "as it was then"
	if r.FileChanged && r.Declared.Redeclare != source.RedeclareDaily {
		return warning(about, "the file changed since it was imported on %s with %s, which studies get: declare it again to import it anew, or write redeclare: daily where it is written anew (no study at unit patient takes such a source)", r.Declared.At.Format(time.DateOnly), textpage.Count(r.Declared.Records, "record"))
	}
	if r.FileChanged {
		now = "written anew since"
	}
	says := fmt.Sprintf("declared with %s on %s, %s: %s",
		textpage.Count(r.Declared.Records,
			"record"), r.Declared.At.Format(time.DateOnly), now, textpage.Count(r.Found, "record"))
	return fine(about, "%s", strings.Join(append([]string{says},
		r.Remarks[:min(mostRemarks, len(r.Remarks))]...), "; "))
}

func checkMapping(s source.Sources, r source.Report) Result {
	about := "mapping " + r.Source
	says, err := s.CheckMapping(r)
	if err != nil {
		return problem(about, "%v", err)
	}
	return fine(about, "%s", says)
}
