package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/verify"
)

// Evidence is what an agent's state folder knows that a release, or a ledger,
// can be held against: receipts the coordinator signed, uploads, and how far
// the ledger was at each. Reading it changes nothing, and may go on while the
// agent runs.
type Evidence struct {
	// Party is who the agent is; Keys are those the coordinator signs with, from
	// the one that the invitation named.
	Party  study.PartyID
	Keys   protocol.Keys
	config Config
	state  state // no ledger: only folders
}

// ReadEvidence reads an enrolled agent's state folder.
func ReadEvidence(c Config) (*Evidence, error) {
	id, party, err := identity(c)
	if err != nil {
		return nil, err
	}
	keys, err := id.Keys()
	if err != nil {
		return nil, err
	}
	e := &Evidence{Party: party, Keys: keys, config: c}
	e.state = state{config: c, party: party, studies: dossiers{filepath.Join(c.State, "studies")}, pools: filepath.Join(c.State, "pools")}
	return e, nil
}

// PoolFile is where the agent keeps a pool that it fetched.
func (e *Evidence) PoolFile(d auxdata.Digest) string { return e.state.poolFile(d) }

// Witness holds a release against what this site knows of its study: whether
// the site agreed to this plan, and whether the release counts the party as its
// receipt says.
func (e *Evidence) Witness(r study.Release) []verify.Finding {
	about := func(v verify.Verdict, format string, args ...any) []verify.Finding {
		return []verify.Finding{{About: "receipt", Verdict: v, Says: fmt.Sprintf(format, args...)}}
	}
	d := e.state.studies.of(r.PlanHash)
	counted := slices.Contains(r.Contributed, e.Party)
	receipt, err := d.receipt(e.Keys)
	switch {
	case errors.Is(err, fs.ErrNotExist) && counted && d.has(fileUpload):
		return about(verify.Word, "the release counts this party (%s); its upload is here, but no receipt: the answer was lost, or is still on its way", e.Party)
	case errors.Is(err, fs.ErrNotExist) && counted:
		return about(verify.Fails, "the release counts this party (%s), which has sent nothing for it", e.Party)
	case errors.Is(err, fs.ErrNotExist):
		return about(verify.Holds, "this party (%s) has no receipt for this study, and the release does not count it", e.Party)
	case err != nil:
		return about(verify.Fails, "the receipt kept here: %v", err)
	case receipt.Plan != r.PlanHash || receipt.Party != e.Party:
		return about(verify.Fails, "the receipt kept here is %s's for plan %s: it is not for this study", receipt.Party, receipt.Plan)
	case !counted:
		return about(verify.Fails, "the coordinator signed a receipt for this party (%s) on %s, but the release does not count it", e.Party, receipt.Received.Format("2006-01-02"))
	}
	if body, err := d.read(fileUpload); err == nil && study.BodyDigest(sha256.Sum256(body)) != receipt.Body {
		return about(verify.Fails, "the receipt kept here is for other bytes than the upload beside it")
	}
	for _, l := range r.Ledger {
		if l.Sequence <= receipt.Ledger.Sequence {
			return about(verify.Fails, "when it signed this party's receipt the coordinator's ledger was at entry %d already, but the release is its entry %d: the ledger was put back to an older state in between", receipt.Ledger.Sequence, l.Sequence)
		}
	}
	return about(verify.Holds, "the coordinator signed for this party's contribution (%s), and the release counts it", e.Party)
}

// Charged holds this site's own ledger against a release: whether it was charged
// exactly what plan and pool declare for the study.
func (e *Evidence) Charged(ctx context.Context, r study.Release, pool *auxdata.Pool) ([]verify.Finding, error) {
	p, err := kinds.PlanOf(r)
	if err != nil {
		return nil, err
	}
	task, err := kinds.NewTask(p, pool)
	if err != nil {
		return nil, err
	}
	charges, err := task.Charges(0)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(e.config)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	counted := slices.Contains(r.Contributed, e.Party)
	var out []verify.Finding
	for _, c := range charges {
		line, found, err := privacy.LineOf(ctx, j, study.ReleaseID(r.PlanHash, c.Output))
		if err != nil {
			return nil, err
		}
		v, says := verify.Holds, ""
		switch declared := c.Cost; {
		case !found && counted:
			v, says = verify.Fails, fmt.Sprintf("the release counts this party (%s), but its ledger holds no charge for %s of this study: it was put back to an older state, or is another ledger", e.Party, c.Output)
		case !found:
			says = fmt.Sprintf("this site's ledger holds no charge for %s of this study, and the release does not count it", c.Output)
		default:
			if line.Kind == privacy.KindRelease || line.Kind == privacy.KindReservation {
				declared = c.Exact
			}
			if len(line.Costs) == 1 && line.Costs[0].Equal(declared) {
				says = fmt.Sprintf("this site's ledger was charged for %s in entry %d: exactly what plan and pool declare, %s", c.Output, line.Sequence, declared)
				break
			}
			v, says = verify.Fails, fmt.Sprintf("this site's ledger was charged for %s in entry %d: %s, but plan and pool declare %s", c.Output, line.Sequence, line.Costs, declared)
		}
		out = append(out, verify.Finding{About: "charge", Verdict: v, Says: says})
	}
	return out, nil
}

// openJournal opens a ledger that is there.
func openJournal(c Config) (*journal.Journal, error) {
	if _, err := os.Stat(LedgerFile(c)); err != nil {
		return nil, fmt.Errorf("there is no ledger at %s: nothing was spent there, or it is the wrong folder: %w", LedgerFile(c), err)
	}
	return journal.OpenSQLite(LedgerFile(c))
}

// Remembered are the heads of this site's ledger that its studies' folders
// remember, each from when an upload was made, in order. Those of an older
// version of this program have no hash.
func (e *Evidence) Remembered() ([]privacy.Head, error) {
	heads, _, err := e.state.studies.heads()
	slices.SortFunc(heads, func(a, b privacy.Head) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return heads, err
}

// Coordinator are the heads of the coordinator's ledger that it quoted to this
// site in receipts and releases it signed, and an error if two of them show that
// its ledger went back or was written anew.
func (e *Evidence) Coordinator() ([]privacy.Head, error) {
	folders, err := e.state.studies.folders()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var receipts []protocol.Receipt
	var heads []privacy.Head
	for _, d := range folders {
		if r, err := d.receipt(e.Keys); err == nil {
			receipts = append(receipts, r)
		}
		heads = append(heads, d.releaseHeads(e.Keys)...)
	}
	slices.SortFunc(receipts, func(a, b protocol.Receipt) int { return a.Received.Compare(b.Received) })
	var last privacy.Head
	for _, r := range receipts {
		if r.Ledger.Sequence < last.Sequence {
			return heads, fmt.Errorf("the coordinator's ledger went back from entry %d to %d before %s: it was put back to an older state and may have released studies twice", last.Sequence, r.Ledger.Sequence, r.Received.Format("2006-01-02 15:04"))
		}
		last = r.Ledger
		if last.Sequence > 0 {
			heads = append(heads, last)
		}
	}
	slices.SortFunc(heads, func(a, b privacy.Head) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for i := 1; i < len(heads); i++ {
		if a, b := heads[i-1], heads[i]; a.Sequence == b.Sequence && a.Hash != b.Hash {
			return heads, fmt.Errorf("the coordinator signed two different entries %d of its ledger: it was put back to an older state and went on, or was written anew", a.Sequence)
		}
	}
	return slices.Compact(heads), nil
}

// receipt reads and checks the receipt of a dossier.
func (d dossier) receipt(key protocol.Verifier) (protocol.Receipt, error) {
	b, err := d.read(fileReceipt)
	if err != nil {
		return protocol.Receipt{}, err
	}
	var kept receipt
	if err := json.Unmarshal(b, &kept); err != nil {
		return protocol.Receipt{}, fmt.Errorf("%s is damaged: %w", fileReceipt, err)
	}
	return protocol.ParseReceipt(kept.Signed, kept.Signature, key)
}

// releaseHeads are the ledger entries that a dossier's release names, if the
// coordinator signed it.
func (d dossier) releaseHeads(key protocol.Verifier) (heads []privacy.Head) {
	b, err := d.read(fileRelease)
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
	return heads
}
