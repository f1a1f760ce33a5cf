package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"caucus/internal/clock"
	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// Agent takes part in studies for one party.
type Agent struct {
	state *state
	link  link
	// looking keeps it from taking up studies that were not charged before: see Look.
	looking bool
	// dial makes a link anew, after the certificate was renewed.
	dial func(Config, protocol.Identity) (link, error)
	id   protocol.Identity
	log  *slog.Logger
	// said is the last thing that was logged of each topic, so that a lasting
	// state is logged once.
	said map[string]string
	// recorded are the lines of the audit log that were written already.
	recorded map[string]bool
	// refused says of a study that was refused without a person in which year it
	// was; "" is until a restart, as policies change with the config.
	refused map[study.Hash]string
	// run names a process that Runs, so that one identity in two places is noticed; reports
	// is what keeps studies waiting here.
	run     []byte
	reports *reports
	// year is what charges are dated by, "" while the clocks disagree: see yearOf.
	year string
	// preparation prepares contributions, one after the other.
	preparation *preparation
	silence     silence
	measured    time.Duration // when the machine's speed was, by the time that passes
	clock       clock.Clock   // Config.Clock, complete
	counts      *counts
	// jitter draws a wait from one.
	jitter func(time.Duration) time.Duration
	// unlock, where not nil, lets go of the state folder, which it holds while it is open.
	unlock func()
}

// New opens the state folder of an enrolled party. It does not dial yet. Close
// the agent, or Run it: Run closes it.
func New(c Config) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("agent config: %w", err)
	}
	id, party, err := identity(c)
	if err != nil {
		return nil, err
	}
	return newAgent(c, id, party, dial)
}

func newAgent(c Config, id protocol.Identity, party study.PartyID, dial func(Config, protocol.Identity) (link, error)) (*Agent, error) {
	c.Clock = c.Clock.Complete()
	s, err := openState(c, party)
	if err != nil {
		return nil, err
	}
	l, err := dial(c, id)
	if err != nil {
		s.close()
		return nil, err
	}
	if err := c.Policy.Helper.another(l.Keys()); err != nil {
		l.Close()
		s.close()
		return nil, fmt.Errorf("agent config: %w", err)
	}
	s.coordinator = l.Keys()
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Agent{
		state: s, link: l, dial: dial, id: id, log: log.With("party", string(party)),
		said: map[string]string{}, recorded: map[string]bool{}, refused: map[study.Hash]string{}, reports: newReports(c.Quiet), preparation: &preparation{prepare: s.draft, clock: c.Clock}, clock: c.Clock, jitter: jitter, counts: newCounts(),
	}, nil
}

// Party is who this agent is.
func (a *Agent) Party() study.PartyID { return a.state.party }

// Close ends the connection and closes the ledger, once what was being prepared
// has come to its end.
func (a *Agent) Close() error {
	a.preparation.going.Wait()
	err := a.link.Close()
	a.state.close()
	if a.unlock != nil {
		a.unlock()
	}
	return err
}

// Run takes part in studies until ctx ends, which is no error. A coordinator
// that is down is waited for, for as long as it takes. Only one Run at a time
// may use a state folder. Run closes the agent.
func (a *Agent) Run(ctx context.Context) error {
	defer a.Close()
	if a.state.config.Courier {
		return errors.New("courier: true in the config: this site calls nobody, so there is nothing to run: caucus agent answer PACK answers what was carried here")
	}
	unlock, err := folder.Hold(a.state.config.State, "another agent")
	if err != nil {
		return err
	}
	defer unlock()
	if err := errors.Join(a.state.studies.tidy(), a.state.tidyScratch()); err != nil {
		return fmt.Errorf("open state folder: %w", err)
	}
	shut, err := a.shown()
	if err != nil {
		return err
	}
	defer shut()
	a.run = newRun()
	a.measure()
	a.log.Info("agent started")
	for _, f := range a.state.checkLocally(ctx, a.id) {
		if f.Status != StatusOK {
			a.log.Warn(f.Says, "about", f.About)
		}
	}
	pace := pace{poll: a.state.config.Poll, most: a.state.config.MaxBackoff, jitter: a.jitter}
	if !a.clock.Sleep(ctx, pace.first()) {
		a.log.Info("agent stopped")
		return nil
	}
	for {
		err := a.Round(ctx)
		if ctx.Err() != nil {
			a.log.Info("agent stopped")
			return nil
		}
		a.polled(ctx, err)
		failed := pace.failures
		wait := pace.next(err == nil)
		if err != nil {
			a.log.Warn(advice(err), "error", err, "wait", wait.Round(time.Millisecond))
		} else if failed > 0 {
			a.log.Info("the coordinator can be reached again", "attempts", failed)
		}
		a.prepareUntilPoll(ctx, wait)
		if a.clock.Elapsed()-a.measured >= measureEvery && len(a.preparation.queue) == 0 && a.preparation.busy.Load() == 0 {
			a.measure()
		}
	}
}

// measure looks how fast this machine is.
func (a *Agent) measure() {
	a.state.speed.measure(a.now())
	a.measured = a.clock.Elapsed()
}

// prepareUntilPoll prepares what is charged, window after window, until the time for the
// next poll has come.
func (a *Agent) prepareUntilPoll(ctx context.Context, wait time.Duration) {
	next, stop := a.clock.After(wait)
	defer stop()
	for len(a.preparation.queue) > 0 {
		a.prepareNext(ctx)
		select {
		case <-ctx.Done():
			return
		case <-next: // it came in a window
			return
		default:
		}
	}
	select {
	case <-ctx.Done():
	case <-next:
	}
}

// Finish prepares and sends what Round had charged. Run does so by itself.
func (a *Agent) Finish(ctx context.Context) {
	for len(a.preparation.queue) > 0 && ctx.Err() == nil {
		a.prepareNext(ctx)
	}
}

// advice says what a failed round means for whoever reads the log.
func advice(err error) string {
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

// Round asks for studies once and takes each as far as it goes now: what is to
// be prepared leaves later, see Finish. It returns an
// error if the coordinator could not be reached or does not admit this agent;
// what keeps one study back is logged and does not keep back the others.
func (a *Agent) Round(ctx context.Context) error {
	a.link.SetHeartbeat(protocol.Heartbeat{Run: a.run, Waits: a.reports.said()})
	listing, err := a.link.Studies(ctx)
	if err != nil {
		return err
	}
	a.reports.begin()
	if skew := listing.Skew; skew.Abs() > maxSkew {
		a.logOnceAbout("clock", slog.LevelWarn, fmt.Sprintf("this machine's clock is off by about %v: certificates may seem expired; deadlines are the coordinator's to judge", skew.Round(time.Minute)))
	}
	if listing.Back != nil {
		a.logOnceAbout("coordinator went back", slog.LevelError, listing.Back.Error()+"; tell its operator (docs/verify.md)")
	}
	if listing.HelperBack != nil {
		a.logOnceAbout("helper went back", slog.LevelError, listing.HelperBack.Error()+"; tell its operator (docs/verify.md)")
	}
	if listing.Forgot != nil {
		a.logOnceAbout("coordinator's head", slog.LevelWarn, listing.Forgot.Error())
	}
	if err := a.followKeys(); err != nil {
		a.logOnceAbout("coordinator's keys", slog.LevelWarn, fmt.Sprintf("the coordinator's new keys could not be kept yet: %v", err))
	}
	a.year = yearOf(a.now(), listing.Skew)
	if a.year == "" {
		a.logOnceAbout("year", slog.LevelWarn, fmt.Sprintf("this machine's clock and the coordinator's are %v apart, so that no charge can be dated: studies wait until they agree within %v", listing.Skew.Round(time.Minute), maxDatedSkew))
	} else {
		delete(a.said, "year")
	}
	if err := a.renew(ctx); err != nil {
		a.logOnceAbout("certificate", slog.LevelWarn, fmt.Sprintf("the certificate could not be renewed yet: %v", err))
	}
	var unreachable error
	for _, s := range listing.Studies {
		err := a.serve(ctx, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil, errors.Is(err, protocol.ErrCarried):
		case protocol.Retry(err):
			unreachable = errors.Join(unreachable, err)
		default:
			a.logOnce(s.Hash, slog.LevelWarn, err.Error())
		}
	}
	return unreachable
}

// maxSkew is how far a clock may be off before it is worth a word: certificates
// live for months, deadlines are hours away.
const maxSkew = 2 * time.Minute

// renew asks for a certificate with a new date when less than a third of this
// one's life is left, or the coordinator's authority is a new one. The new identity is on the disk before it is used, and
// the old one stays valid, so a crash in between loses nothing.
func (a *Agent) renew(ctx context.Context) error {
	from, until, err := a.id.Validity()
	if err != nil || until.Sub(a.now()) > until.Sub(from)/3 && !a.id.Outdated() {
		return err
	}
	id, err := a.link.Renew(ctx)
	if err != nil {
		return err
	}
	return a.useIdentity(id, "certificate renewed")
}

// followKeys keeps what the coordinator's old key signed about its new ones, and calls
// it by the new authority from then on.
func (a *Agent) followKeys() error {
	id, news := a.id.Follow(a.link.Keys())
	if !news {
		return nil
	}
	return a.useIdentity(id, "the coordinator changed its keys, and its old one signed for that")
}

// useIdentity goes on with another identity, which is on the disk before it is used.
func (a *Agent) useIdentity(id protocol.Identity, why string) error {
	if err := id.Save(IdentityFile(a.state.config)); err != nil {
		return err
	}
	a.done("identity renewed")
	l, err := a.dial(a.state.config, id)
	if err != nil {
		return err
	}
	a.link.Close()
	a.link, a.id, a.state.coordinator = l, id, l.Keys()
	a.log.Info(why)
	return nil
}

// logOnce logs what keeps a study back, once while it lasts. Errors that reach it
// hold no record: see Source.read and package privacy.
func (a *Agent) logOnce(h study.Hash, level slog.Level, what string) {
	a.logOnceAbout(h.String(), level, what, "study", h.String())
}

// logOnceAbout logs something about a topic unless it was the last thing said of it.
func (a *Agent) logOnceAbout(topic string, level slog.Level, what string, args ...any) {
	if a.said[topic] != what {
		a.said[topic] = what
		a.log.Log(context.Background(), level, what, args...)
	}
}

func (a *Agent) now() time.Time { return a.state.config.now() }

// maxDatedSkew is how far the clocks may be apart for a charge to be dated. A
// coordinator can move the end of a year by so much and by no more.
const maxDatedSkew = time.Hour

// yearOf is the year in UTC that this clock and the coordinator's agree on: the
// earlier one where they differ around a new year, so that a clock that runs
// ahead begins no year early, and "" where they are further apart. Otherwise a
// coordinator whose clock is years behind could open one old year after the
// other, each with its budget. That a clock is put back gives nothing back is
// the ledger's doing: see privacy.Ledger.Begin.
func yearOf(now time.Time, skew time.Duration) string {
	if skew.Abs() > maxDatedSkew {
		return ""
	}
	return fmt.Sprintf("%04d", min(now.UTC().Year(), now.Add(skew).UTC().Year()))
}

// done reports an effect that is durable or visible.
func (a *Agent) done(effect string) {
	if f := a.state.config.Checkpoint; f != nil {
		f(effect)
	}
}

// courier is the link of an agent by file; nil of one that calls.
func (a *Agent) courier() *protocol.Courier {
	c, _ := a.link.(*protocol.Courier)
	return c
}
