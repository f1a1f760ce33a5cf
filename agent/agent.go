package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"caucus/agent/desk"
	"caucus/agent/health"
	"caucus/agent/site"
	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/study"
)

// Agent is one party's daemon on its open state folder (Open). Run polls and contributes; the
// embedded Desk serves persons. One process at a time holds the folder as an agent.
type Agent struct {
	*desk.Desk
	site *site.Site
	link link
	// looking is true during Look. The agent then takes up no study that it has not charged yet.
	looking bool
	// dial makes a new connection after the certificate was renewed.
	dial func(site.Config, protocol.Identity) (link, error)
	id   protocol.Identity
	log  *slog.Logger
	// logged is the last message logged about each topic, so that a state that lasts is logged
	// once.
	logged   map[string]string
	recorded map[string]bool
	// refused has an entry for each study that policy or ledger refused: the year in which the
	// ledger refused, or "" for the policy, whose refusal holds for this agent, because an edited
	// policy makes another (ErrEdited).
	refused map[study.Hash]string
	// run identifies this process, so that two with one identity are noticed. reports says why
	// studies wait.
	run     []byte
	reports *reports
	// year is the year that charges are dated with, "" while the clocks disagree (site.YearOf).
	year        string
	preparation *preparation
	silence     silence
	measured    time.Duration // clock.Elapsed at the last speed measurement
	clock       clock.Clock
	counts      *health.Metrics
	// jitter draws a random wait of at most its argument.
	jitter func(time.Duration) time.Duration
	// unlock, if not nil, releases the state folder, which the agent holds while it is open.
	unlock func()
}

// Party is this site's name, from its certificate.
func (a *Agent) Party() study.PartyID { return a.site.Party }

// Close waits for the preparation in progress, then closes the connection and the ledger.
func (a *Agent) Close() error {
	a.preparation.going.Wait()
	err := a.link.Close()
	a.site.Close()
	if a.unlock != nil {
		a.unlock()
	}
	return err
}

// logOnce logs an obstacle to a study once while it lasts. The text must quote no record.
func (a *Agent) logOnce(h study.Hash, level slog.Level, what string) {
	a.logOnceAbout(h.String(), level, what, "study", h.String())
}

func (a *Agent) logOnceAbout(topic string, level slog.Level, what string, args ...any) {
	if a.logged[topic] != what {
		a.logged[topic] = what
		a.log.Log(context.Background(), level, what, args...)
	}
}

func (a *Agent) now() time.Time { return a.site.Config.Now() }

// done calls Config.Checkpoint after a durable or visible effect. Tests crash the agent in that
// call.
func (a *Agent) done(effect string) {
	if f := a.site.Config.Checkpoint; f != nil {
		f(effect)
	}
}

func (a *Agent) courier() *protocol.Courier {
	c, _ := a.link.(*protocol.Courier)
	return c
}

// errRefused says that policy or ledger refused a study, and that the reason was logged.
var errRefused = errors.New("refused here")

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
		a.counts.CountRefusal(args)
	}
	return nil
}

// refusedHere reports whether policy or ledger refused a study. A refusal by the ledger counts only
// in its year, because a new year has a new limit.
func (a *Agent) refusedHere(h study.Hash) bool {
	year, refused := a.refused[h]
	return refused && (year == "" || year == a.year)
}

func (a *Agent) refuse(h study.Hash, name, by, year, why string) error {
	a.refused[h] = year
	a.reports.say(h, protocol.WaitDeclined)
	a.logOnce(h, slog.LevelWarn, why)
	return errors.Join(errRefused, a.recordOnce(site.AuditRefused, h, name, "by", by))
}

// decline tells the coordinator once that this party does not take part. The message is the same
// for every reason.
func (a *Agent) decline(ctx context.Context, d site.StudyFolder, h study.Hash) error {
	// a refusal that people carry is written again, because the earlier file may be lost
	if d.Has(site.FileDeclined) && a.courier() == nil {
		return nil
	}
	if err := a.link.Decline(ctx, h); err != nil {
		return err
	}
	if d.Has(site.FileRefused) {
		a.counts.Refusals.WithLabelValues(site.DeciderPerson).Inc()
	}
	return d.Write(site.FileDeclined, nil)
}

// flaws returns what constants replaced in a contribution, as pairs for the audit line and for the
// log line that every upload has.
//
// Proof note. Claim: the times of the upload and of this agent's next message do not tell
// whether a contribution was late or its source unread. The upload has left when the files about
// both are read. No line is written for them alone, in neither log, because a line is on the disk,
// and with syslog sent, before the agent goes on: the next message would leave later.
// TestFlawsAreTold would catch a violation.
func (a *Agent) flaws(d site.StudyFolder) (audit, log []any) {
	if late, err := d.Read(site.FileMissedWindow); err == nil {
		what := strings.TrimSpace(string(late))
		audit = append(audit, "late", what)
		log = append(log, "late", "not ready in time, a constant is sent in its place: "+what+
			"; raise least_window or margin in the config, or give the agent another processor")
	}
	if why, err := d.Read(site.FileReadFailure); err == nil {
		audit = append(audit, "unread", true)
		log = append(log, "unread", "this study gets empty records of this site: its source cannot be "+
			"read as it was declared: "+strings.TrimSpace(string(why)))
	}
	return audit, log
}

func (a *Agent) closed(d site.StudyFolder, o protocol.Summary, why string) error {
	audit, log := a.flaws(d)
	if d.Has(site.FileReceipt) { // the receipt's lines have told them
		audit, log = nil, nil
	}
	if err := a.recordOnce(site.AuditClosed, o.Hash, o.Name,
		append([]any{"why", why}, audit...)...); err != nil {
		return err
	}
	if err := d.Write(site.FileClosed, []byte(why+"\n")); err != nil {
		return err
	}
	a.log.Info("study closed", append([]any{"study", o.Hash.String(), "why", why}, log...)...)
	return nil
}

// ended notes that the study ended at the coordinator. A later amendment may reopen it.
func (a *Agent) ended(d site.StudyFolder, o protocol.Summary, why string) error {
	if err := d.Write(site.FileEnded, fmt.Appendln(nil, o.Amendments)); err != nil {
		return err
	}
	return a.closed(d, o, why)
}
