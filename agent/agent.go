package agent

import (
	"context"
	"errors"
	"fmt"
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
	// year is what charges are dated by, "" while the clocks disagree: see site.YearOf.
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
// hold no record: see agent/source and privacy.
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

// errRefused: the policy or the ledger refuses a study; why was said.
var errRefused = errors.New("refused here")

// recordOnce writes a line of the audit log once in this process, whatever
// becomes of what it says.
func (a *Agent) recordOnce(what string, h study.Hash, name string, args ...any) error {
	line := fmt.Sprint(what, h, args)
	if a.recorded[line] {
		return nil
	}
	if err := a.site.Audit.Record(what, h, name, args...); err != nil {
		return err
	}
	a.recorded[line] = true
	if what == site.AuditRefused {
		a.counts.Refused(args)
	}
	return nil
}

// refusedHere says whether policy or ledger refused a study, in this year where
// another may be different.
func (a *Agent) refusedHere(h study.Hash) bool {
	year, refused := a.refused[h]
	return refused && (year == "" || year == a.year)
}

// refuse notes that policy or ledger refuse a study, and why.
func (a *Agent) refuse(h study.Hash, name, by, year, why string) error {
	a.refused[h] = year
	a.reports.say(h, protocol.WaitDeclined)
	a.logOnce(h, slog.LevelWarn, why)
	return errors.Join(errRefused, a.recordOnce(site.AuditRefused, h, name, "by", by))
}

// decline tells the coordinator, once, that this party takes no part in a study:
// the same message whether a person refused, the policy or the ledger.
func (a *Agent) decline(ctx context.Context, d site.Dossier, h study.Hash) error {
	if d.Has(site.FileDeclined) && a.courier() == nil { // what was carried may never have arrived
		return nil
	}
	if err := a.link.Decline(ctx, h); err != nil {
		return err
	}
	if d.Has(site.FileRefused) {
		a.counts.Refusals.WithLabelValues(site.ByPerson).Inc()
	}
	return d.Write(site.FileDeclined, nil)
}

// closed notes how a study ended for this site.
func (a *Agent) closed(d site.Dossier, o protocol.Summary, why string) error {
	if err := a.recordOnce(site.AuditClosed, o.Hash, o.Name, "why", why); err != nil {
		return err
	}
	if err := d.Write(site.FileClosed, []byte(why+"\n")); err != nil {
		return err
	}
	a.log.Info("study closed", "study", o.Hash.String(), "why", why)
	return nil
}

// ended notes that a study is over for this site because it is over: an amendment
// after those that there are now may take it up again.
func (a *Agent) ended(d site.Dossier, o protocol.Summary, why string) error {
	if err := d.Write(site.FileEnded, fmt.Appendln(nil, o.Amendments)); err != nil {
		return err
	}
	return a.closed(d, o, why)
}
