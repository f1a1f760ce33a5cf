package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"caucus/agent/health"
	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/protocol"
)

// Run takes part in studies until ctx ends, and then returns nil. It waits for a coordinator that
// is down, without a time limit. Only one Run at a time may use a state folder. Run closes the
// agent. If the configuration was edited, Run returns ErrEdited.
func (a *Agent) Run(ctx context.Context) error {
	defer a.Close()
	if a.site.Config.Courier {
		return errors.New("courier: true in the config: this site calls nobody, so there is nothing to run: caucus agent answer PACK answers what was carried here")
	}
	unlock, err := folder.LockForDaemon(a.site.Config.State, "another agent")
	if err != nil {
		return err
	}
	defer unlock()
	if err := errors.Join(a.site.Studies.RemoveTemporary(), a.site.RemoveScratch()); err != nil {
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
	for _, f := range health.CheckLocal(ctx, a.site, a.id) {
		if f.Status != health.OK {
			a.log.Warn(f.Text, "about", f.Subject)
		}
	}
	pace := pace{poll: a.site.Config.Poll, most: a.site.Config.MaxBackoff, jitter: a.jitter}
	if !a.clock.Sleep(ctx, pace.first()) {
		a.log.Info("agent stopped")
		return nil
	}
	for {
		err := a.PollOnce(ctx)
		if ctx.Err() != nil {
			a.log.Info("agent stopped")
			return nil
		}
		a.counts.CountPoll(ctx, a.site, a.id, err, a.refusedHere)
		failed := pace.failures
		wait := pace.next(err == nil)
		if err != nil {
			a.log.Warn(health.ExplainError(err), "error", err, "wait", wait.Round(time.Millisecond))
		} else if failed > 0 {
			a.log.Info("the coordinator can be reached again", "attempts", failed)
		}
		a.prepareUntilPoll(ctx, wait)
		if len(a.preparation.queue) > 0 || a.preparation.busy.Load() > 0 {
			continue
		}
		if a.edited() {
			return ErrEdited
		}
		if a.clock.Elapsed()-a.measured >= site.MeasureInterval {
			a.measure()
		}
	}
}

// ErrEdited ends Run if the configuration was edited: the caller opens an agent with the new one,
// whose policy judges all studies anew. No study is being prepared then.
var ErrEdited = errors.New("the configuration was edited")

func (a *Agent) edited() bool {
	if a.site.Config.Edited == nil {
		return false
	}
	edited, err := a.site.Config.Edited()
	if err != nil {
		a.logOnceAbout("config", slog.LevelWarn, fmt.Sprintf("the configuration was changed and cannot be read, so the agent goes on by what it read before: %v", err))
		return false
	}
	delete(a.logged, "config")
	if edited {
		a.log.Info("the configuration was edited: it is taken up now, and its policy judges studies anew")
	}
	return edited
}

func (a *Agent) measure() {
	a.site.Speed.Measure(a.now())
	a.measured = a.clock.Elapsed()
}

// prepareUntilPoll prepares the charged studies, one window after the other, until the next poll is
// due.
func (a *Agent) prepareUntilPoll(ctx context.Context, wait time.Duration) {
	next, stop := a.clock.After(wait)
	defer stop()
	for len(a.preparation.queue) > 0 {
		a.prepareNext(ctx)
		select {
		case <-ctx.Done():
			return
		case <-next: // the next poll became due during a window
			return
		default:
		}
	}
	select {
	case <-ctx.Done():
	case <-next:
	}
}

// SendCharged prepares and sends the studies that PollOnce charged. Run does so by itself.
func (a *Agent) SendCharged(ctx context.Context) {
	for len(a.preparation.queue) > 0 && ctx.Err() == nil {
		a.prepareNext(ctx)
	}
}

// PollOnce asks for studies once and does for each study what can be done now. A prepared upload
// leaves later (SendCharged). PollOnce returns an error if the coordinator could not be reached or
// does not admit this agent. An obstacle to one study is logged and does not delay the others.
func (a *Agent) PollOnce(ctx context.Context) error {
	holds, err := a.site.Studies.Released()
	if err != nil {
		return err
	}
	a.link.SetHeartbeat(protocol.Heartbeat{ProcessID: a.run, Waits: a.reports.current(),
		HeldReleases: holds})
	listing, err := a.link.Studies(ctx)
	if err != nil {
		return err
	}
	a.reports.begin()
	if skew := listing.Skew; skew.Abs() > health.MaxSkew {
		a.logOnceAbout("clock", slog.LevelWarn, fmt.Sprintf("this machine's clock is off by about %v: certificates may seem expired; deadlines are the coordinator's to judge", skew.Round(time.Minute)))
	}
	if listing.CoordinatorRestored != nil {
		a.logOnceAbout("coordinator went back", slog.LevelError,
			listing.CoordinatorRestored.Error()+"; tell its operator (docs/verify.md)")
	}
	if listing.HelperRestored != nil {
		a.logOnceAbout("helper went back", slog.LevelError,
			listing.HelperRestored.Error()+"; tell its operator (docs/verify.md)")
	}
	if listing.StoreError != nil {
		a.logOnceAbout("coordinator's head", slog.LevelWarn, listing.StoreError.Error())
	}
	if err := a.followCoordinator(listing.Addresses); err != nil {
		a.logOnceAbout("coordinator's keys", slog.LevelWarn, fmt.Sprintf("the coordinator's new keys or addresses could not be kept yet: %v", err))
	}
	a.year = site.YearOf(a.now(), listing.Skew)
	if a.year == "" {
		a.logOnceAbout("year", slog.LevelWarn, fmt.Sprintf("this machine's clock and the coordinator's are %v apart, so that no charge can be dated: studies wait until they agree within %v", listing.Skew.Round(time.Minute), site.MaxYearSkew))
	} else {
		delete(a.logged, "year")
	}
	if err := a.renew(ctx); err != nil {
		a.logOnceAbout("certificate", slog.LevelWarn,
			fmt.Sprintf("the certificate could not be renewed yet: %v", err))
	}
	var unreachable error
	for _, s := range listing.Studies {
		err := a.serve(ctx, s)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil, errors.Is(err, protocol.ErrToBeCarried):
		case protocol.IsRetryable(err):
			unreachable = errors.Join(unreachable, err)
		default:
			a.logOnce(s.Hash, slog.LevelWarn, err.Error())
		}
	}
	return unreachable
}

// renew asks for a new certificate when a third of the present one's life is left, or when the
// coordinator has a new authority. The new identity is on the disk before it is used, and the old
// one stays valid, so a crash loses nothing.
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

// followCoordinator stores the coordinator's signed handover to new keys, and its signed addresses,
// then uses them.
func (a *Agent) followCoordinator(addresses protocol.Addresses) error {
	id, news := a.id.WithKeys(a.link.Keys(), addresses)
	switch {
	case !news:
		return nil
	case id.Coordinator != a.id.Coordinator:
		return a.useIdentity(id, "the coordinator's replicas are at other addresses now, which it signed")
	}
	return a.useIdentity(id, "the coordinator changed its keys, and its old one signed for that")
}

// useIdentity makes id the agent's identity: it saves the identity file and dials the coordinator
// with it.
func (a *Agent) useIdentity(id protocol.Identity, why string) error {
	if err := id.Save(site.IdentityFile(a.site.Config)); err != nil {
		return err
	}
	a.done("identity renewed")
	l, err := a.dial(a.site.Config, id)
	if err != nil {
		return err
	}
	a.link.Close()
	a.link, a.id, a.site.Coordinator = l, id, l.Keys()
	a.log.Info(why)
	return nil
}
