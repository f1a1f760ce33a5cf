package verify_test

import (
	"testing"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

// TestEnding: a release's amendments must be allowed by the plan, be signed by the coordinator,
// include all that a party was told, and explain the absence of a party with a receipt.
func TestEnding(t *testing.T) {
	c := conclude()
	stranger := must(protocol.NewSigner())
	p, h := must(c.release.Release.DecodedPlan()), c.release.Release.PlanHash
	amend := func(signer *protocol.Signer, hours, minimum int, reopens bool,
		after ...study.Signed) []study.Signed {
		chain := study.NewAmendmentChain(p, h)
		for _, a := range after {
			must(chain.Add(a.Document))
		}
		e := chain.Ending()
		e.Deadline, e.Minimum = e.Deadline.Add(time.Duration(hours)*time.Hour), minimum
		document := must(chain.Next(e, reopens, time.Date(2031, 1, 1, hours, 0, 0, 0, time.UTC),
			privacy.Head{}))
		return append(after[:len(after):len(after)],
			study.Signed{Document: document,
				Signature: signer.Sign(protocol.AmendmentDocument, document)})
	}
	one := amend(c.signer, 1, p.Minimum, false)
	two := amend(c.signer, 2, p.Minimum, true, one...)
	other := amend(c.signer, 5, p.Minimum, false)
	forged := amend(stranger, 1, p.Minimum, false)
	low := amend(c.signer, 1, p.Minimum-1, false)
	for name, test := range map[string]struct {
		change  func(*study.Release)
		known   []study.Signed // known to the party
		verdict evidence.Verdict
		about   string
		says    string
	}{
		"a chain":                  {func(r *study.Release) { r.Amendments = two }, nil, evidence.Holds, "ending", "2 amendments changed when the study ends"},
		"the party knows it":       {func(r *study.Release) { r.Amendments = two }, one, evidence.Holds, "ending", "names all 1 amendments"},
		"it knows more":            {func(r *study.Release) { r.Amendments = one }, two, evidence.Fails, "ending", "does not name"},
		"it was told otherwise":    {func(r *study.Release) { r.Amendments = one }, other, evidence.Fails, "ending", "does not name"},
		"nothing of it is named":   {func(r *study.Release) {}, one, evidence.Fails, "ending", "does not name"},
		"somebody else signed":     {func(r *study.Release) { r.Amendments = forged }, nil, evidence.Fails, "ending", "signature"},
		"one is missing":           {func(r *study.Release) { r.Amendments = two[1:] }, nil, evidence.Fails, "ending", "comes next"},
		"the minimum went too low": {func(r *study.Release) { r.Amendments = low }, nil, evidence.Fails, "ending", "its minimum stays"},
		"sealed by an operator":    {func(r *study.Release) { r.Sealed = study.SealedByOperator }, nil, evidence.CoordinatorsWord, "ending", "an operator sealed it"},
		"sealed by its rule":       {func(r *study.Release) { r.Sealed = study.SealedByRule }, nil, evidence.CoordinatorsWord, "ending", "by the rule"},
		"sealed by something else": {func(r *study.Release) { r.Sealed = "42 patients" }, nil, evidence.Fails, "ending", "nothing of that name"},
		"left out after it reopened": {func(r *study.Release) {
			r.Amendments, r.Contributed, r.Missing = two, nil, append(r.Missing, r.Contributed...)
		}, nil, evidence.CoordinatorsWord, "receipt", "did not come again"},
		"left out though it came again": {func(r *study.Release) {
			r.Amendments, r.Contributed, r.Missing = two, nil, append(r.Missing, r.Contributed...)
		}, two, evidence.Fails, "receipt", "does not count it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.release.Release
			test.change(&r)
			site := c.site
			site.Amendments, site.ReceiptAfter = test.known, len(test.known)
			found := verify.Release(sign(c.signer, r),
				verify.VerifierInputs{Pool: c.pool, Party: &site})
			if test.known != nil &&
				!says(evidence.CompareParty(sign(c.signer, r), c.pool, site), test.verdict,
					test.about, test.says) {
				t.Error("CompareParty does not say it")
			}
			if !says(found, test.verdict, test.about, test.says) {
				t.Errorf("no finding says %s %s: %q\n%+v", test.verdict, test.about, test.says,
					found)
			}
		})
	}
}
