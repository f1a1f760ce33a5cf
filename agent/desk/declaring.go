package desk

import (
	"strings"

	"caucus/agent/site"
	"caucus/agent/source"
)

// Sources reports on all sources, without opening their files.
func (k *Desk) Sources() []source.Report { return k.site.Sources.Reports() }

// CheckSource reads a source as a study would, and changes nothing.
func (k *Desk) CheckSource(name string) (source.Report, error) {
	if _, err := k.site.Sources.Find(name); err != nil {
		return source.Report{}, err
	}
	return k.site.Sources.Check(name), nil
}

// DeclareSource keeps what a person declares of a source by having it read once: see
// source.Sources.Declare, and there what is refused without vouch.
func (k *Desk) DeclareSource(name string, who Approver, vouch bool) (source.Report, error) {
	return k.site.Sources.Declare(name, vouch, func(d *source.Declaration) (err error) {
		if d.By, err = who.name(); err != nil {
			return err
		}
		d.Account, d.At = account(), k.site.Config.Now().UTC()
		return k.site.Audit.RecordSource(site.AuditDeclared, name, "records", d.Records, "vouched", strings.Join(d.Vouched, " "), "by", d.By, "account", d.Account)
	})
}
