package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"caucus/aggregator/uploading"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Receipt is the coordinator's signed receipt as this site stores it.
type Receipt struct {
	UploadDigest string    `json:"body"` // SHA-256 of the upload
	Received     time.Time `json:"received"`
	Signed       []byte    `json:"signed"`
	Signature    []byte    `json:"signature"`
	// Amendments is the number of amendments known when the last receipt came.
	Amendments int `json:"amendments,omitempty"`
}

func (sf StudyFolder) receipt() (protocol.Receipt, error) {
	b, err := sf.Read(FileReceipt)
	if err != nil {
		return protocol.Receipt{}, err
	}
	var kept Receipt
	if err := json.Unmarshal(b, &kept); err != nil {
		return protocol.Receipt{}, fmt.Errorf("%s is damaged: %w", FileReceipt, err)
	}
	return protocol.Receipt{Document: kept.Signed, Signature: kept.Signature}, nil
}

// releaseHeads lists the ledger entries that a study folder's release names, if the coordinator
// signed the release. named, if not nil, caches them, because a site with years of releases reads
// them at each receipt.
func (sf StudyFolder) releaseHeads(key protocol.Verifier, named *sync.Map) (heads []privacy.Head) {
	info, err := os.Stat(filepath.Join(sf.Dir, FileRelease))
	if err != nil {
		return nil
	}
	file := fmt.Sprint(sf.Dir, info.Size(), info.ModTime().UnixNano())
	if named != nil {
		if known, ok := named.Load(file); ok {
			return known.([]privacy.Head)
		}
	}
	b, err := sf.Read(FileRelease)
	if err != nil || !bytes.HasPrefix(b, []byte("{")) {
		return nil
	}
	r, err := protocol.ReadRelease(b)
	if err != nil || r.Check(key) != nil {
		return nil
	}
	for _, l := range r.Release.Ledger {
		heads = append(heads, l.Head())
	}
	if named != nil {
		named.Store(file, heads)
	}
	return heads
}

// Amendments returns the known amendments with their signatures.
func (sf StudyFolder) Amendments() (all []study.Signed, err error) {
	b, err := sf.Read(FileAmendments)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	return all, err
}

// Chain is a plan with its known amendments. Their signatures were checked when they arrived.
func (sf StudyFolder) Chain(p study.Plan, h study.Hash) (*study.AmendmentChain, error) {
	all, err := sf.Amendments()
	if err != nil {
		return nil, err
	}
	return ChainOf(p, h, all)
}

// ChainOf links amendments to their plan, in order. It checks hashes and what the plan allows, but
// no signature: check those when amendments arrive.
func ChainOf(p study.Plan, h study.Hash, all []study.Signed) (*study.AmendmentChain, error) {
	var documents [][]byte
	for _, a := range all {
		documents = append(documents, a.Document)
	}
	return study.AmendmentChainOf(p, h, documents)
}

// Ending is the ending in force, as far as this site knows.
func (sf StudyFolder) Ending(p study.Plan, h study.Hash) study.Ending {
	if c, err := sf.Chain(p, h); err == nil {
		return c.Ending()
	}
	return p.Ending()
}

// AmendmentsAtEnd is the number of amendments that the study had when it ended. If it did not end,
// or this site closed it for a reason of its own, the result exceeds any possible number.
func (sf StudyFolder) AmendmentsAtEnd() int {
	b, err := sf.Read(FileEnded)
	n, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || bad != nil {
		return study.MaxAmendments + 1
	}
	return n
}

// WriteHelperAcceptance stores the helper's document as the coordinator passed it on, without a
// check.
func (sf StudyFolder) WriteHelperAcceptance(s protocol.Study) error {
	if !s.Plan.Noise.Shared() || s.Helper.Document == nil || sf.Has(FileUpload) {
		return nil
	}
	return sf.WriteJSON(fileHelper, s.Helper)
}

// Helper returns the document that WriteHelperAcceptance stored, empty if there is none.
func (sf StudyFolder) Helper() (a protocol.Signed, err error) {
	b, err := sf.Read(fileHelper)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		return a, fmt.Errorf("read the helper's acceptance: %w", err)
	}
	return a, nil
}

// HelperText names the helper of this site's policy, "" if the plan has no helper. agreed reports
// whether the helper has agreed to the study, as far as this folder knows.
func (s *Site) HelperText(d StudyFolder, t study.Task) (words string, agreed bool) {
	helper := s.Config.Policy.Helper
	if !t.Plan().Noise.Shared() || !helper.Configured() {
		return "", false
	}
	kept, err := d.Helper()
	if err == nil {
		_, err = uploading.CheckAcceptance(t, kept, helper.Pins(), s.Coordinator)
	}
	switch {
	case err != nil && d.Has(FileUpload):
		return fmt.Sprintf("%s: what this site made was sealed to an earlier helper's key: %v", helper.Words(), err), false
	case err != nil:
		return fmt.Sprintf("%s: nothing is charged or sent before it agreed; as far as this site was told: %v", helper.Words(), err), false
	}
	return helper.Words() + ": it agreed to this plan and to its noise, and signed that", true
}

// Approval is one person's approval of one plan with one declaration of its source
// (Declaration.ApprovedDigest). If the source is declared again, or a changed configuration demands
// a new declaration, the approval no longer counts and the person is asked again.
//
// A signature proves that the holder of the key that the policy lists under Name approved this plan
// and declaration, whoever can write the state folder. It does not prove that two keys are in the
// hands of two people, and it does not stop a person who can change the policy. An approval without
// a signature is a note that anybody with write access to the state folder could have made.
type Approval struct {
	Name string `json:"name"`
	// Account is the operating system's user who ran the command.
	Account           string    `json:"account"`
	At                time.Time `json:"at"`
	DeclarationDigest string    `json:"shown"` // see Declaration.ApprovedDigest
	Signature         []byte    `json:"signature,omitempty"`
}

// Refusal is a person's refusal of one plan. Its words stay in this file.
type Refusal struct {
	Name    string    `json:"name"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason,omitempty"`
}

// ApprovalText returns the bytes that an approver signs: plan hash, what was shown
// (Declaration.ApprovedDigest) and the person's name, with a space between. An approval of one
// declaration so never counts for another.
func ApprovalText(h study.Hash, shown, name string) []byte {
	return []byte(h.String() + " " + shown + " " + name)
}

// ApprovalFile names the file of a person's approval. A name that not every file system can hold is
// in the file alone.
func ApprovalFile(name string) string {
	if protocol.CheckName(name) != nil {
		digest := sha256.Sum256([]byte(name))
		name = "~" + hex.EncodeToString(digest[:16]) // no name begins so
	}
	return fileApproval + name + ".json"
}

func (s *Site) counts(h study.Hash, a Approval) bool {
	all := s.Config.Policy.Approvers
	if len(all) == 0 {
		return true
	}
	key, named := all[a.Name]
	return named && key.Verify(protocol.ApprovalDocument,
		ApprovalText(h, a.DeclarationDigest, a.Name),
		a.Signature) == nil
}

// Approvers returns the names of people whose approval of a plan counts, and of those whose
// approval lapsed because the plan's source was declared again or is not declared.
func (s *Site) Approvers(d StudyFolder, h study.Hash, p study.Plan) (names, lapsed []string) {
	files, err := filepath.Glob(filepath.Join(d.Dir, fileApproval+"*.json")) // the result is sorted
	if err != nil || len(files) == 0 {
		return nil, nil
	}
	shown := ""
	if source, err := s.Sources.Of(p); err == nil {
		shown = source.ApprovedDigest()
	}
	for _, file := range files {
		var a Approval
		b, err := d.Read(filepath.Base(file))
		switch {
		case err != nil || json.Unmarshal(b, &a) != nil ||
			filepath.Base(file) != ApprovalFile(a.Name) || !s.counts(h, a):
		case shown == "" || a.DeclarationDigest != shown:
			lapsed = append(lapsed, a.Name)
		default:
			names = append(names, a.Name)
		}
	}
	return names, lapsed
}

// Refused reads a person's refusal, nil without one. An unreadable refusal counts as one.
func (s *Site) Refused(d StudyFolder) *Refusal {
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
