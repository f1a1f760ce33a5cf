package desk

import (
	"context"
	"fmt"
	"os/user"
	"strings"

	"golang.org/x/text/unicode/norm"

	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/dataset"
	"caucus/protocol"
	"caucus/study"
)

// Desk shows a person of a site the studies that ask for its data, and takes approvals and
// refusals.
type Desk struct {
	site *site.Site
	// refresh fetches new plans from the coordinator, unless a running agent does that.
	refresh func(context.Context) error
}

// New works on an open state folder, which the caller closes. refresh is called before each list,
// review and decision; its error means that plans may be old, and stops none of them.
func New(s *site.Site, refresh func(context.Context) error) *Desk { return &Desk{s, refresh} }

// Approver is a person who approves or refuses a study.
type Approver struct {
	// Name is one of the policy's approvers. If the policy names none, an empty name means the
	// account.
	Name string
	// Key signs the approval, if the policy names approvers.
	Key *protocol.Signer
	// Program names the page or program used, recorded with the account; "" is the command line.
	Program string
	// DeclarationDigest is the start of Review.DeclarationDigest as the person saw it. If the
	// review has changed since, nothing is approved. If DeclarationDigest is empty, the approval
	// covers the current review.
	DeclarationDigest string
}

func account() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%s (uid %s)", u.Username, u.Uid)
}

func (a Approver) account() string {
	if a.Program == "" {
		return account()
	}
	return account() + ", through " + a.Program
}

func (a Approver) name() (string, error) {
	// In one form, so that nobody counts twice: é may be one character or two.
	name := norm.NFC.String(strings.Join(strings.Fields(a.Name), " "))
	if name == "" {
		u, err := user.Current()
		if err != nil {
			return "", fmt.Errorf("say who you are: %w", err)
		}
		if name = u.Username; protocol.CheckPersonName(name) != nil {
			name = "uid-" + u.Uid
		}
	}
	return name, protocol.CheckPersonName(name)
}

// Sources reports on all sources, without opening their files.
func (k *Desk) Sources() []source.Report { return k.site.Sources.Reports() }

// CheckSource reads a source as a study would, and changes nothing.
func (k *Desk) CheckSource(ctx context.Context, name string) (source.Report, error) {
	if _, err := k.site.Sources.Find(name); err != nil {
		return source.Report{}, err
	}
	return k.site.Sources.Check(ctx, name), nil
}

// DeclareSource stores a person's declaration of a source (source.Sources.Declare).
func (k *Desk) DeclareSource(ctx context.Context, name string, who Approver,
	how source.DeclareOptions) (source.Report, error) {
	return k.site.Sources.Declare(ctx, name, how, func(d *source.Declaration) (err error) {
		if d.By, err = who.name(); err != nil {
			return err
		}
		d.Account, d.At = account(), k.site.Config.Now().UTC()
		return k.site.Audit.RecordSource(site.AuditDeclared, name, "records", d.Records, "from",
			d.Origin(), "vouched", strings.Join(d.VouchedColumns, " "),
			"patient", d.Mapping.Patient, "by", d.By, "account", d.Account)
	})
}

// ForgetSource removes a source's declaration and its imported records.
func (k *Desk) ForgetSource(name string, who Approver) error {
	by, err := who.name()
	if err == nil && !k.site.Sources.Declared(name) {
		err = fmt.Errorf("forget source %s: it is not declared", name)
	}
	if err == nil {
		err = k.site.Audit.RecordSource(site.AuditForgotten, name, "by", by, "account", account())
	}
	if err != nil {
		return err
	}
	return k.site.Sources.Forget(name)
}

// Records returns this site's records in the encoding of a plan's schema, for this site only:
// nothing is charged, so none may leave. The source must be declared. A plan's least number of
// records does not apply.
func (k *Desk) Records(p study.Plan) (*dataset.Records, error) {
	records, err := k.site.Sources.AllRecords(p)
	if err != nil {
		return nil, fmt.Errorf("read this site's records: %w", err)
	}
	return records, nil
}
