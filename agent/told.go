package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"caucus/agent/site"
	"caucus/protocol"
	"caucus/study"
)

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
