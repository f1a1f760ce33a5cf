package health

import (
	"context"
	"errors"
	"strings"
	"time"

	"caucus/agent/site"
	"caucus/protocol"
	"caucus/study"
)

// patience is how long Check waits for the coordinator.
const patience = 10 * time.Second

// askCoordinator says whether the coordinator answers, is the one that invited
// this site, and has the same time.
func askCoordinator(ctx context.Context, c site.Config, id protocol.Identity) []Result {
	if c.Courier {
		return []Result{fine("coordinator", "is not called (courier: true): what would be sent is carried in files")}
	}
	hungUp, err := site.Speak(c)
	if errors.Is(err, site.ErrSilent) {
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
	address := c.Coordinator
	if address == "" {
		address = id.Coordinator
	}
	return askLink(ctx, l, address)
}

// lister lists studies, as a poll asks for them; *protocol.Client is one.
type lister interface {
	Studies(context.Context) (protocol.Listing, error)
}

func askLink(ctx context.Context, l lister, address string) []Result {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	listing, err := l.Studies(ctx)
	if err != nil {
		// What it means comes first: what TLS says is long.
		why, _, _ := strings.Cut(Advice(err), ";")
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
	case listing.Back != nil:
		found = problem("coordinator", "%v; tell its operator (docs/verify.md)", listing.Back)
	case listing.HelperBack != nil:
		found = problem("coordinator", "%v; tell its operator (docs/verify.md)", listing.HelperBack)
	case listing.Forgot != nil:
		found = warning("coordinator", "%v", listing.Forgot)
	}
	return []Result{found, checkSkew(listing.Skew)}
}

// checkSkew holds this machine's clock against the coordinator's.
func checkSkew(skew time.Duration) Result {
	const about = "clock"
	where := "behind"
	if skew < 0 {
		where = "ahead of"
	}
	off := skew.Abs().Round(time.Second)
	switch {
	case skew.Abs() > site.MaxDatedSkew:
		return problem(about, "%v %s the coordinator's: set it; nothing is charged until they agree within %v", off, where, site.MaxDatedSkew)
	case skew.Abs() > MaxSkew:
		return warning(about, "%v %s the coordinator's: set it", off, where)
	}
	return fine(about, "as the coordinator's, within %v", max(off, time.Second))
}

// Advice says what a failed round means for whoever reads the log.
func Advice(err error) string {
	switch {
	case errors.Is(err, protocol.ErrClock):
		return "this machine's clock and the certificates disagree: set the clock; the agent tries again"
	case errors.Is(err, protocol.ErrExpired):
		return "this agent's certificate has expired: ask the operator for an invitation and enrol again"
	case errors.Is(err, protocol.ErrDenied) && strings.Contains(err.Error(), "is not the coordinator that invited"):
		return "whoever answers is not the coordinator that invited this agent, by its certificate: check the address, ask the operator; nothing is sent, the agent tries again"
	case errors.Is(err, protocol.ErrDenied):
		return "the coordinator does not admit this agent: ask its operator; the agent tries again"
	}
	return "the coordinator cannot be reached; nothing is lost, the agent tries again"
}

// MaxSkew is how far a clock may be off before it is worth a word: certificates
// live for months, deadlines are hours away.
const MaxSkew = 2 * time.Minute
