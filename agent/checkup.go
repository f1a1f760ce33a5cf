package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"caucus/agent/source"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Status is how well something is.
type Status string

// The statuses of a CheckResult, from best to worst.
const (
	StatusOK      Status = "ok"
	StatusWarning Status = "warning" // it works, and somebody should look
	StatusProblem Status = "problem" // it keeps this site from taking part, or its records from counting
)

// CheckResult is what a Checkup found of one thing, in a line: how it is, or what is
// wrong and what to do.
type CheckResult struct {
	About  string `json:"about"`
	Status Status `json:"status"`
	Says   string `json:"says"`
}

// Checkup is what a person is told who asks whether an agent can do its work. It
// tells of the records: it is for the eyes of the site.
type Checkup struct {
	Checks []CheckResult `json:"checks"`
	// Worst is the worst status of them.
	Worst Status `json:"worst"`
}

func fine(about, format string, args ...any) CheckResult {
	return CheckResult{about, StatusOK, fmt.Sprintf(format, args...)}
}

func warning(about, format string, args ...any) CheckResult {
	return CheckResult{about, StatusWarning, fmt.Sprintf(format, args...)}
}

func problem(about, format string, args ...any) CheckResult {
	return CheckResult{about, StatusProblem, fmt.Sprintf(format, args...)}
}

func checkupOf(all []CheckResult) Checkup {
	c := Checkup{Checks: all, Worst: StatusOK}
	for _, f := range all {
		if f.Status == StatusProblem || f.Status == StatusWarning && c.Worst == StatusOK {
			c.Worst = f.Status
		}
	}
	return c
}

// Problems is how many findings are problems.
func (c Checkup) Problems() int {
	n := 0
	for _, f := range c.Checks {
		if f.Status == StatusProblem {
			n++
		}
	}
	return n
}

// WriteText writes a line for each finding.
func (c Checkup) WriteText(w io.Writer) error {
	wide := 0
	for _, f := range c.Checks {
		wide = max(wide, len([]rune(textpage.Printable(f.About))))
	}
	for _, f := range c.Checks {
		if _, err := fmt.Fprintf(w, "%-8s %-*s  %s\n", f.Status, wide, textpage.Printable(f.About), textpage.Printable(f.Says)); err != nil {
			return err
		}
	}
	return nil
}

// Check looks at all that an agent of this configuration needs: what LoadConfig
// returned. It asks the coordinator for its list of studies, as each poll does,
// before it reads a source, so that nothing it says hangs on what is read; it
// spends and declares nothing.
func Check(ctx context.Context, c Config, path string, err error) Checkup {
	if err != nil {
		return checkupOf([]CheckResult{problem("config", "%v", err)})
	}
	c.Clock = c.Clock.Complete()
	all := []CheckResult{fine("config", "%s", path)}
	id, party, err := identity(c)
	if err != nil {
		all = append(all, problem("certificate", "%v", err), checkPolicy(c.Policy))
		return checkupOf(append(all, checkSources(c.Sources(), true)...))
	}
	s, err := openState(c, party)
	if err != nil {
		all = append(all, checkCertificate(id, c.now()), checkPolicy(c.Policy), problem("ledger", "%v", err), checkDisk(c.State))
		return checkupOf(append(append(all, askCoordinator(ctx, c, id)...), checkSources(c.Sources(), true)...))
	}
	defer s.close()
	all = append(all, s.checkFolder(ctx, id)...)
	all = append(all, askCoordinator(ctx, c, id)...)
	return checkupOf(append(all, checkSources(c.Sources(), true)...))
}

// checkLocally is what an agent says when it starts: of Check what needs neither
// the network nor a look into a file. When a poll comes must not hang on how long
// a file took to read; files are read in windows (window has the proof), and when
// a person asks.
func (s *state) checkLocally(ctx context.Context, id protocol.Identity) []CheckResult {
	return append(s.checkFolder(ctx, id), checkSources(s.sources, false)...)
}

// checkFolder looks at what lies in the state folder, and at the policy.
func (s *state) checkFolder(ctx context.Context, id protocol.Identity) []CheckResult {
	all := append([]CheckResult{checkCertificate(id, s.config.now()), checkPolicy(s.config.Policy)}, checkHelper(s.config.Policy.Helper, id)...)
	all = append(all, s.checkLedger(ctx), checkDisk(s.config.State), s.checkConstants())
	return append(append(all, s.config.checkLearner()...), s.config.checkScorer()...)
}

// checkCertificate says how long an agent's own certificate lasts.
func checkCertificate(id protocol.Identity, now time.Time) CheckResult {
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
func checkPolicy(p Policy) CheckResult {
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
	who := map[string]string{ApproveByPolicy: "nobody is asked", ApproveByPerson: "a person approves", ApproveByTwo: "two persons approve"}[p.Approval]
	return fine("policy", "%s; noise: %s; %s; %s", strings.Join(p.Kinds, ", "), textpage.List(p.Noise), strings.Join(most, ", "), who)
}

// checkHelper says which helper this site trusts, so that a person can hold its keys against
// what the helper's own operator says.
func checkHelper(h Helper, id protocol.Identity) []CheckResult {
	const about = "helper"
	if !h.named() {
		return nil
	}
	keys, err := id.Keys()
	if err == nil {
		err = h.another(keys)
	}
	if err != nil {
		return []CheckResult{problem(about, "%v", err)}
	}
	return []CheckResult{fine(about, "%s", h.words())}
}

// checkLedger walks the whole ledger, and says what is left of it.
func (s *state) checkLedger(ctx context.Context) CheckResult {
	const about = "ledger"
	if _, err := privacy.Verify(ctx, s.journal); err != nil {
		return problem(about, "%v: see caucus ledger verify", err)
	}
	all, err := s.spending(ctx)
	if err != nil {
		return problem(about, "%v", err)
	}
	var left []string
	for _, of := range all {
		for _, u := range privacy.Units() {
			most, limited := of.most[u]
			if !limited {
				continue
			}
			when := ""
			if of.year != "" {
				when = " for " + of.year
			}
			spent := of.spent[u].Epsilon(most.Delta)
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
func checkDisk(dir string) CheckResult {
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

// patience is how long Check waits for the coordinator.
const patience = 10 * time.Second

// askCoordinator says whether the coordinator answers, is the one that invited
// this site, and has the same time.
func askCoordinator(ctx context.Context, c Config, id protocol.Identity) []CheckResult {
	if c.Courier {
		return []CheckResult{fine("coordinator", "is not called (courier: true): what would be sent is carried in files")}
	}
	hungUp, err := speaks(c)
	if errors.Is(err, errSilent) {
		return []CheckResult{fine("coordinator", "is not asked: %v", err)}
	}
	if err != nil {
		return []CheckResult{problem("coordinator", "%v", err)}
	}
	defer hungUp()
	l, err := dial(c, id)
	if err != nil {
		return []CheckResult{problem("coordinator", "%v", err)}
	}
	defer l.Close()
	address := c.Coordinator
	if address == "" {
		address = id.Coordinator
	}
	return askLink(ctx, l, address)
}

func askLink(ctx context.Context, l link, address string) []CheckResult {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	listing, err := l.Studies(ctx)
	if err != nil {
		// What it means comes first: what TLS says is long.
		why, _, _ := strings.Cut(advice(err), ";")
		return []CheckResult{problem("coordinator", "%s: %s (%v)", address, why, err)}
	}
	open := 0
	for _, s := range listing.Studies {
		if s.State == study.Open {
			open++
		}
	}
	found := fine("coordinator", "%s answers, with the certificate that was expected; %d studies are open", address, open)
	switch {
	case listing.Back != nil:
		found = problem("coordinator", "%v; tell its operator (docs/verify.md)", listing.Back)
	case listing.HelperBack != nil:
		found = problem("coordinator", "%v; tell its operator (docs/verify.md)", listing.HelperBack)
	case listing.Forgot != nil:
		found = warning("coordinator", "%v", listing.Forgot)
	}
	return []CheckResult{found, checkSkew(listing.Skew)}
}

// checkSkew holds this machine's clock against the coordinator's.
func checkSkew(skew time.Duration) CheckResult {
	const about = "clock"
	where := "behind"
	if skew < 0 {
		where = "ahead of"
	}
	off := skew.Abs().Round(time.Second)
	switch {
	case skew.Abs() > maxDatedSkew:
		return problem(about, "%v %s the coordinator's: set it; nothing is charged until they agree within %v", off, where, maxDatedSkew)
	case skew.Abs() > maxSkew:
		return warning(about, "%v %s the coordinator's: set it", off, where)
	}
	return fine(about, "as the coordinator's, within %v", max(off, time.Second))
}

// checkSources looks at all sources; without read, not into their files.
func checkSources(s source.Sources, read bool) []CheckResult {
	names := slices.Sorted(maps.Keys(s.Named))
	if len(names) == 0 {
		return []CheckResult{warning("sources", "there are none: name files of records under data:")}
	}
	var all []CheckResult
	for _, name := range names {
		var r source.Report
		if read {
			r = s.Check(name)
		} else if r = s.Report(name); r.Declared != nil {
			if _, err := os.Stat(r.File); err != nil {
				r.Problem = err.Error()
			}
		}
		all = append(all, checkSource(r), checkMapping(s, r))
	}
	return all
}

// checkSource says of a source what a person has to know first.
func checkSource(r source.Report) CheckResult {
	about := "source " + r.Source
	switch {
	case r.Declared == nil && r.Problem != "":
		const most = 3 // remarks; declare shows all
		return problem(about, "%s", strings.Join(append([]string{r.Problem}, r.Remarks[:min(most, len(r.Remarks))]...), "; "))
	case r.Declared == nil:
		return problem(about, "studies of it wait: %s", strings.TrimPrefix(r.Waits, source.ErrUndeclared.Error()+": source "+r.Source+": "))
	case r.Problem != "":
		return problem(about, "%s; see caucus agent check --source %s", r.Problem, r.Source)
	case !r.Read:
		return fine(about, "declared with %s", textpage.Count(r.Declared.Records, "record"))
	case r.Found < r.Declared.Records:
		return warning(about, "declared with %s, the file has %d: the others are empty; declare it again if that stays so", textpage.Count(r.Declared.Records, "record"), r.Found)
	}
	now := "as it was then"
	if r.Changed && r.Declared.Redeclare != source.RedeclareDaily {
		return warning(about, "the file changed since it was declared on %s with %s: declare it again, or write redeclare: daily where it is written anew", r.Declared.At.Format(time.DateOnly), textpage.Count(r.Declared.Records, "record"))
	}
	if r.Changed {
		now = "written anew since"
	}
	return fine(about, "declared with %s on %s, %s: %s, %s", textpage.Count(r.Declared.Records, "record"), r.Declared.At.Format(time.DateOnly), now, textpage.Count(r.Found, "record"), textpage.Count(len(r.Remarks), "remark"))
}

// checkMapping says whether a source's mapping makes all columns of its schema out of the
// file's.
func checkMapping(s source.Sources, r source.Report) CheckResult {
	about := "mapping " + r.Source
	says, err := s.CheckMapping(r)
	if err != nil {
		return problem(about, "%v", err)
	}
	return fine(about, "%s", says)
}
