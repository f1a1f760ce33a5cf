package agent

import (
	"context"
	"log/slog"
	"time"

	"caucus/agent/desk"
	"caucus/agent/health"
	"caucus/agent/site"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/study"
)

// Agent takes part in studies for one party.
type Agent struct {
	*desk.Desk
	site *site.Site
	link link
	// looking keeps it from taking up studies that were not charged before: see Look.
	looking bool
	// dial makes a link anew, after the certificate was renewed.
	dial func(site.Config, protocol.Identity) (link, error)
	id   protocol.Identity
	log  *slog.Logger
	// said is the last thing that was logged of each topic, so that a lasting
	// site is logged once.
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
	counts      *health.Counts
	// jitter draws a wait from one.
	jitter func(time.Duration) time.Duration
	// unlock, where not nil, lets go of the state folder, which it holds while it is open.
	unlock func()
}

// Party is who this agent is.
func (a *Agent) Party() study.PartyID { return a.site.Party }

// Close ends the connection and closes the ledger, once what was being prepared
// has come to its end.
func (a *Agent) Close() error {
	a.preparation.going.Wait()
	err := a.link.Close()
	a.site.Close()
	if a.unlock != nil {
		a.unlock()
	}
	return err
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

func (a *Agent) now() time.Time { return a.site.Config.Now() }

// done reports an effect that is durable or visible.
func (a *Agent) done(effect string) {
	if f := a.site.Config.Checkpoint; f != nil {
		f(effect)
	}
}

// courier is the link of an agent by file; nil of one that calls.
func (a *Agent) courier() *protocol.Courier {
	c, _ := a.link.(*protocol.Courier)
	return c
}
