package agent

import (
	"strings"

	"caucus/agent/source"
)

// Sources reports on all sources, without opening their files.
func (a *Agent) Sources() []source.Report { return a.state.sources.Reports() }

// CheckSource reads a source as a study would, and changes nothing.
func (a *Agent) CheckSource(name string) (source.Report, error) {
	if _, err := a.state.sources.Find(name); err != nil {
		return source.Report{}, err
	}
	return a.state.sources.Check(name), nil
}

// DeclareSource keeps what a person declares of a source by having it read once: see
// source.Sources.Declare, and there what is refused without vouch.
func (a *Agent) DeclareSource(name string, who Approver, vouch bool) (source.Report, error) {
	return a.state.sources.Declare(name, vouch, func(d *source.Declaration) (err error) {
		if d.By, err = who.name(); err != nil {
			return err
		}
		d.Account, d.At = account(), a.now().UTC()
		return a.state.audit.recordSource(auditDeclared, name, "records", d.Records, "vouched", strings.Join(d.Vouched, " "), "by", d.By, "account", d.Account)
	})
}
