package evidence

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// Party holds one party's records of a study, for comparison with its release.
type Party struct {
	Party study.PartyID
	// Keys are the coordinator's keys: the key in the party's invitation and its successors.
	Keys protocol.Keys
	// Receipt is the coordinator's signed answer to the party's contribution, nil if there is none.
	// BadReceipt says why a stored receipt cannot be read.
	Receipt    *protocol.Receipt
	BadReceipt error
	// ReceiptAfter is the number of amendments that the party knew when the latest receipt came. A
	// contribution that is sent again, after a study was reopened, gets a receipt with the date of
	// the first receipt.
	ReceiptAfter int
	Amendments   []study.Signed
	// Upload is the body that the party sent, nil if it sent none or does not know it.
	Upload []byte
	// ShareDigest is the digest by which two servers know the contribution. It is nil if one server
	// adds the noise, or if the digest is unknown.
	ShareDigest *study.Hash
	// Ledger is the party's ledger, nil if it is not at hand.
	Ledger LineFinder
}

// CheckReceipt compares a release with the site's receipt. If the coordinator signed that it got
// the party's contribution, the release must count it. CheckReceipt uses only the receipt's signed
// document.
func (s Party) CheckReceipt(r study.Release) []Finding {
	var f findings
	const about = "receipt"
	counted := slices.Contains(r.Contributed, s.Party)
	var receipt protocol.Receipt
	err := s.BadReceipt
	if err == nil && s.Receipt != nil {
		receipt, err = protocol.ParseReceipt(s.Receipt.Document, s.Receipt.Signature, s.Keys)
	}
	switch {
	case err != nil:
		f.add(Fails, about, "the receipt kept here: %v", err)
	case s.Receipt == nil && counted && s.Upload != nil:
		f.add(CoordinatorsWord, about, "the release counts this party (%s); its upload is here, but no receipt: the answer was lost, or is still on its way", s.Party)
	case s.Receipt == nil && counted:
		f.add(Fails, about, "the release counts this party (%s), which has sent nothing for it", s.Party)
	case s.Receipt == nil:
		f.add(Holds, about, "this party (%s) has no receipt for this study, and the release does not count it", s.Party)
	case receipt.Plan != r.PlanHash || receipt.Party != s.Party:
		f.add(Fails, about, "the receipt kept here is %s's for plan %s: it is not for this study", receipt.Party, receipt.Plan)
	case !counted && reopenedAfter(r, s.ReceiptAfter):
		f.add(CoordinatorsWord, about, "the coordinator signed a receipt for this party (%s), the study failed after that and was taken up again, and by the coordinator's word this party's contribution did not come again: the release does not count it", s.Party)
	case !counted && r.Aggregated != nil && slices.Contains(r.Aggregated.Refused, s.Party):
		f.add(Fails, about, "the coordinator signed a receipt for this party (%s), and then both servers refused its contribution, as one that no proof covers: either of the two, or the program here, did what it should not", s.Party)
	case !counted:
		f.add(Fails, about, "the coordinator signed a receipt for this party (%s) on %s, but the release does not count it", s.Party, receipt.Received.Format("2006-01-02"))
	case s.Upload != nil && study.BodyDigest(sha256.Sum256(s.Upload)) != receipt.Body:
		f.add(Fails, about, "the receipt kept here is for other bytes than the upload beside it")
	default:
		for _, l := range r.Ledger {
			if l.Sequence <= receipt.Ledger.Sequence {
				f.add(Fails, about, "when it signed this party's receipt the coordinator's ledger was at entry %d already, but the release is its entry %d: the ledger was put back to an older state in between", receipt.Ledger.Sequence, l.Sequence)
				return f
			}
		}
		f.add(Holds, about, "the coordinator signed for this party's contribution (%s), and the release counts it", s.Party)
	}
	return f
}

// Shared compares the set that two servers signed with the site's contribution.
func (s Party) Shared(r study.Release) []Finding {
	var f findings
	const about = "shares"
	at := slices.Index(r.Contributed, s.Party)
	if r.Aggregated == nil || s.ShareDigest == nil || at < 0 {
		return nil
	}
	if f.claims(about, at < len(r.Aggregated.Members) && r.Aggregated.Members[at] == *s.ShareDigest, "what both servers signed that they have of this party (%s) is not what it sent", s.Party) {
		f.add(Holds, about, "both servers signed that what this party (%s) sent is in the sum, and no other bytes under its name", s.Party)
	}
	return f
}

// CheckSent compares a release's numbers under the site's name with the numbers that the site sent.
func (s Party) CheckSent(r study.Release) []Finding {
	var f findings
	const about = "own numbers"
	at := slices.Index(r.Senders, s.Party)
	if at < 0 || s.Upload == nil {
		return nil
	}
	all, _, err := study.ParseBodies(r.Sum)
	if err != nil {
		f.add(Fails, about, "%v", err)
		return f
	}
	same := false
	for body := range all { // reading bodies in memory cannot fail
		same = same || at == 0 && bytes.Equal(body, s.Upload)
		at--
	}
	if !f.claims(about, same, "what the release shows under this party's name (%s) is not what it sent", s.Party) {
		return f
	}
	f.add(Holds, about, "what the release shows under this party's name (%s) is what it sent, byte for byte", s.Party)
	return f
}

// CheckCharges compares the site's ledger with a release. They must be those that plan and pool
// declare.
func (s Party) CheckCharges(r study.Release, pool *auxdata.Pool) []Finding {
	var f findings
	if s.Ledger == nil {
		return nil
	}
	charges, err := chargesOf(r, pool)
	if err != nil {
		f.add(Fails, "charge", "plan and pool declare none: %v", err)
		return f
	}
	counted := slices.Contains(r.Contributed, s.Party)
	for _, c := range charges {
		line, found, err := s.Ledger(study.ReleaseID(r.PlanHash, c.Output))
		declared := c.Cost
		if line.Kind == privacy.KindRelease || line.Kind == privacy.KindReservation {
			declared = c.CalibratedCost
		}
		switch {
		case err != nil:
			f.add(Fails, "charge", "this site's ledger cannot be read: %v", err)
		case !found && counted:
			f.add(Fails, "charge", "the release counts this party (%s), but its ledger holds no charge for %s of this study: it was put back to an older state, or is another ledger", s.Party, c.Output)
		case !found:
			f.add(Holds, "charge", "this site's ledger holds no charge for %s of this study, and the release does not count it", c.Output)
		case len(line.Costs) == 1 && line.Costs[0].Equal(declared):
			f.add(Holds, "charge", "this site's ledger was charged for %s in entry %d: exactly what plan and pool declare, %s", c.Output, line.Sequence, declared)
		default:
			f.add(Fails, "charge", "this site's ledger was charged for %s in entry %d: %s, but plan and pool declare %s", c.Output, line.Sequence, line.Costs, declared)
		}
	}
	return f
}

func chargesOf(r study.Release, pool *auxdata.Pool) ([]study.Charge, error) {
	p, err := kinds.PlanOf(r)
	if err != nil {
		return nil, err
	}
	t, err := kinds.NewTask(p, pool)
	if err != nil {
		return nil, err
	}
	return t.Charges(0)
}

// CompareParty compares a signed release with a site's own records: who signed the release, whether
// receipt and amendments agree, and whether the site's ledger was charged exactly what plan and
// pool declare.
func CompareParty(r protocol.SignedRelease, pool *auxdata.Pool, s Party) []Finding {
	var f findings
	f.signedBy(r, s.Keys)
	f = append(append(append(append(f, s.CheckReceipt(r.Release)...), s.Shared(r.Release)...),
		s.CheckSent(r.Release)...), s.CheckEnding(r.Release)...)
	return append(f, s.CheckCharges(r.Release, pool)...)
}

func (f *findings) signedBy(r protocol.SignedRelease, keys protocol.Verifier) {
	if err := r.Check(keys); err != nil {
		f.add(Fails, "signature", "the release is not what this coordinator signed: %v", err)
		return
	}
	f.add(Holds, "signature", "the coordinator signed the release")
}
