package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"caucus/internal/textpage"
	"caucus/protocol"
	"caucus/study"
)

// Approver is who says yes or no to a study.
type Approver struct {
	// Name is the person's, as the policy's approvers name it; where the policy
	// names none, it may be empty and the account stands for the person.
	Name string
	// Key signs the approval, where the policy names approvers.
	Key *protocol.Signer
	// Through says by what the person came, where it is not the command line; it stands
	// beside the account.
	Through string
	// Shown is the start of what Review.Shown was when the person looked: where
	// it is something else now, nothing is approved. Empty takes what it is now.
	Shown string
}

// approval is one person's yes to one plan on one declaration of its source
// (Declaration.Shown). Where the source is declared anew, or the configuration
// comes to say something else of it, so that it has to be, the yes was to
// something else and counts no more: the person is asked again.
//
// With a signature it proves that whoever holds the key that the policy names
// for Name said yes to this very plan and declaration, whoever can write the state folder. It
// does not prove that two keys are in two hands, nor does it bind somebody who
// can change the policy itself. Without a signature it is a note: anyone who
// may write the state folder could have made it.
type approval struct {
	Name string `json:"name"`
	// Account is the operating system's user the command ran as, by its word.
	Account   string    `json:"account"`
	At        time.Time `json:"at"`
	Shown     string    `json:"shown"` // Declaration.Shown
	Signature []byte    `json:"signature,omitempty"`
}

// refusal is a person's no to one plan. Its words stay in this file.
type refusal struct {
	Name    string    `json:"name"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason,omitempty"`
}

// approvalText is what an approver signs.
func approvalText(h study.Hash, shown, name string) []byte {
	return []byte(h.String() + " " + shown + " " + name)
}

func approvalFile(name string) string { return fileApproval + name + ".json" }

// needed is how many persons must approve a study.
func (p Policy) needed() int {
	switch p.Approval {
	case ApproveByPolicy:
		return 0
	case ApproveByTwo:
		return 2
	}
	return 1
}

// counts says whether an approval is one under this policy.
func (p Policy) counts(h study.Hash, a approval) bool {
	if len(p.Approvers) == 0 {
		return true
	}
	key, named := p.Approvers[a.Name]
	return named && key.Verify(protocol.ApprovalDocument, approvalText(h, a.Shown, a.Name), a.Signature) == nil
}

// approvers are the persons whose approval of a plan counts, by name: of those
// lapsed, the plan's source was declared anew since, or is not declared.
func (s *state) approvers(d dossier, h study.Hash, p study.Plan) (names, lapsed []string) {
	files, err := filepath.Glob(filepath.Join(d.dir, approvalFile("*"))) // sorted
	if err != nil || len(files) == 0 {
		return nil, nil
	}
	shown := ""
	if source, err := s.sources.Of(p); err == nil {
		shown = source.Shown()
	}
	for _, file := range files {
		var a approval
		b, err := d.read(filepath.Base(file))
		switch {
		case err != nil || json.Unmarshal(b, &a) != nil || filepath.Base(file) != approvalFile(a.Name) || !s.config.Policy.counts(h, a):
		case shown == "" || a.Shown != shown:
			lapsed = append(lapsed, a.Name)
		default:
			names = append(names, a.Name)
		}
	}
	return names, lapsed
}

// refused reads a person's no; nil where there is none. A refusal that cannot
// be read is one.
func (s *state) refused(d dossier) *refusal {
	b, err := d.read(fileRefused)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r refusal
	if err != nil || json.Unmarshal(b, &r) != nil {
		return &refusal{Name: "somebody"}
	}
	return &r
}

// account is the operating system's user of this process.
func account() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%s (uid %s)", u.Username, u.Uid)
}

// account is the user of the process, and by what a person came to it.
func (who Approver) account() string {
	if who.Through == "" {
		return account()
	}
	return account() + ", through " + who.Through
}

// name is who an approver is, under a policy.
func (who Approver) name() (string, error) {
	name := who.Name
	if name == "" {
		u, err := user.Current()
		if err != nil {
			return "", fmt.Errorf("say who you are: %w", err)
		}
		if name = u.Username; protocol.CheckName(name) != nil {
			name = "uid-" + u.Uid
		}
	}
	return name, protocol.CheckName(name)
}

// Approve lets a study that the policy allows take place, once as many persons
// as the policy asks for have done so, and says what was approved. A study that
// the policy does not allow stays refused: change the policy. What a person
// refused stays refused. Approval is for this plan; another plan needs its own.
// The records are read for the review alone, after the approval is there: how
// long that takes keeps nothing waiting.
func (a *Agent) Approve(ctx context.Context, name string, who Approver) (Review, error) {
	offline := a.refresh(ctx)
	h, err := a.state.studies.find(name)
	if err != nil {
		return Review{}, errors.Join(err, offline)
	}
	r, err := a.state.outline(ctx, h)
	if err != nil {
		return Review{}, errors.Join(err, offline)
	}
	fail := func(err error) (Review, error) {
		return r, fmt.Errorf("approve study %s: %w", textpage.Printable(r.Study), err)
	}
	if r.Refused != "" {
		return fail(fmt.Errorf("it was %s, and stays so: ask its contact for a new plan", r.Refused))
	}
	if !r.Allowed {
		return fail(fmt.Errorf("the policy does not allow it: %s", r.Objections[0]))
	}
	p := a.state.config.Policy
	as, err := who.name()
	if err != nil {
		return fail(err)
	}
	switch {
	case r.Shown == "":
		return fail(fmt.Errorf("its source is not declared, so nobody was shown what it would get: %s", r.Undeclared))
	case !strings.HasPrefix(r.Shown, who.Shown):
		return fail(fmt.Errorf("its source was declared anew, and is %s now: look at it again (caucus agent preview %s)", r.Shown[:16], textpage.Printable(r.Study)))
	}
	yes := approval{Name: as, Account: who.account(), At: a.now().UTC(), Shown: r.Shown}
	if key, named := p.Approvers[as]; len(p.Approvers) > 0 {
		switch {
		case !named:
			return fail(fmt.Errorf("%s is none of the policy's approvers (%s): say who you are with --as", as, textpage.List(approverNames(p.Approvers))))
		case who.Key == nil:
			return fail(fmt.Errorf("approver %s signs with a key: give it with --key", as))
		case who.Key.Key() != key:
			return fail(fmt.Errorf("this is not the key that the policy names for %s", as))
		}
		yes.Signature = who.Key.Sign(protocol.ApprovalDocument, approvalText(r.Plan, r.Shown, as))
	}
	// What was shown is in the approval's own file: its digest hangs on the source's, and
	// this log may leave the machine.
	if err := a.state.audit.record(auditApproved, r.Plan, r.Study, "by", as, "account", yes.Account, "signed", yes.Signature != nil); err != nil {
		return fail(err)
	}
	if err := a.state.studies.of(r.Plan).writeJSON(approvalFile(as), yes); err != nil {
		return fail(err)
	}
	return a.state.review(ctx, r.Plan)
}

// Refuse keeps a study from taking place here, for good, and says how far it
// had come. The reason stays in this site's folder: the coordinator is told
// that this party takes no part, in the same words as where the policy or the
// ledger refuses. What was received cannot be taken back. What is being sent
// at this moment may still arrive.
func (a *Agent) Refuse(ctx context.Context, name string, who Approver, reason string) (Review, error) {
	offline := a.refresh(ctx)
	h, err := a.state.studies.find(name)
	if err != nil {
		return Review{}, errors.Join(err, offline)
	}
	r, err := a.state.outline(ctx, h)
	if err != nil {
		return Review{}, err
	}
	fail := func(err error) (Review, error) {
		return r, fmt.Errorf("refuse study %s: %w", textpage.Printable(r.Study), err)
	}
	d := a.state.studies.of(h)
	as, err := who.name()
	switch {
	case err != nil:
		return fail(err)
	case r.Refused != "":
		return r, nil
	case d.has(fileReceipt), d.has(fileRelease):
		return fail(errors.New("the coordinator has this party's contribution already: it cannot be taken back"))
	case d.has(fileClosed):
		return fail(fmt.Errorf("it is closed already: %s", r.Closed))
	}
	no := refusal{Name: as, Account: who.account(), At: a.now().UTC(), Reason: strings.TrimSpace(reason)}
	if err := a.state.audit.record(auditRefused, h, r.Study, "by", as, "account", no.Account); err != nil {
		return fail(err)
	}
	if err := d.writeJSON(fileRefused, no); err != nil {
		return fail(err)
	}
	return a.state.outline(ctx, h)
}
