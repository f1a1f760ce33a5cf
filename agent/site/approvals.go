package site

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// Approval is one person's yes to one plan on one declaration of its source
// (Declaration.Shown). Where the source is declared anew, or the configuration
// comes to say something else of it, so that it has to be, the yes was to
// something else and counts no more: the person is asked again.
//
// With a signature it proves that whoever holds the key that the policy names
// for Name said yes to this very plan and declaration, whoever can write the state folder. It
// does not prove that two keys are in two hands, nor does it bind somebody who
// can change the policy itself. Without a signature it is a note: anyone who
// may write the state folder could have made it.
type Approval struct {
	Name string `json:"name"`
	// Account is the operating system's user the command ran as, by its word.
	Account   string    `json:"account"`
	At        time.Time `json:"at"`
	Shown     string    `json:"shown"` // Declaration.Shown
	Signature []byte    `json:"signature,omitempty"`
}

// Refusal is a person's no to one plan. Its words stay in this file.
type Refusal struct {
	Name    string    `json:"name"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason,omitempty"`
}

// ApprovalText is what an approver signs.
func ApprovalText(h study.Hash, shown, name string) []byte {
	return []byte(h.String() + " " + shown + " " + name)
}

func ApprovalFile(name string) string { return fileApproval + name + ".json" }

// counts says whether an approval is one under this site's policy.
func (s *Site) counts(h study.Hash, a Approval) bool {
	all := s.Config.Policy.Approvers
	if len(all) == 0 {
		return true
	}
	key, named := all[a.Name]
	return named && key.Verify(protocol.ApprovalDocument, ApprovalText(h, a.Shown, a.Name), a.Signature) == nil
}

// Approvers are the persons whose approval of a plan counts, by name: of those
// lapsed, the plan's source was declared anew since, or is not declared.
func (s *Site) Approvers(d Dossier, h study.Hash, p study.Plan) (names, lapsed []string) {
	files, err := filepath.Glob(filepath.Join(d.Dir, ApprovalFile("*"))) // sorted
	if err != nil || len(files) == 0 {
		return nil, nil
	}
	shown := ""
	if source, err := s.Sources.Of(p); err == nil {
		shown = source.Shown()
	}
	for _, file := range files {
		var a Approval
		b, err := d.Read(filepath.Base(file))
		switch {
		case err != nil || json.Unmarshal(b, &a) != nil || filepath.Base(file) != ApprovalFile(a.Name) || !s.counts(h, a):
		case shown == "" || a.Shown != shown:
			lapsed = append(lapsed, a.Name)
		default:
			names = append(names, a.Name)
		}
	}
	return names, lapsed
}

// Refused reads a person's no; nil where there is none. A refusal that cannot
// be read is one.
func (s *Site) Refused(d Dossier) *Refusal {
	b, err := d.Read(FileRefused)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r Refusal
	if err != nil || json.Unmarshal(b, &r) != nil {
		return &Refusal{Name: "somebody"}
	}
	return &r
}
