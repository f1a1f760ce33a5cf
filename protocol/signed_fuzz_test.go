package protocol

import (
	"encoding/json"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/study"
)

// FuzzSigned: a signed but senseless receipt, release or plan is refused; an accepted receipt keeps
// its content.
func FuzzSigned(f *testing.F) {
	signer := must(NewSigner())
	r := must(Receipt{Plan: study.Hash{1}, Party: "p", Body: study.BodyDigest{2}, Size: 3,
		Received: time.Unix(9, 0).UTC()}.Sign(signer))
	f.Add(r.Document)
	f.Add(must(json.Marshal(study.Release{Plan: []byte(`{"name":"x"}`), Manifest: study.Manifest{Unit: privacy.Record, Parties: 2}})))
	f.Add([]byte(`{"name":"x","kind":"classify"}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		if r, err := ParseReceipt(document, signer.Sign(ReceiptDocument, document),
			signer.Key()); err == nil {
			// Times of years beyond 9999 can be read but have no JSON.
			if again, err := r.Sign(signer); err == nil {
				if back := must(ParseReceipt(again.Document, again.Signature,
					signer.Key())); back.Plan != r.Plan || back.Party != r.Party ||
					back.Size != r.Size {
					t.Fatalf("%+v reads back as %+v", r, back)
				}
			}
		}
		if r, err := ParseRelease(document, signer.Sign(ReleaseDocument, document),
			signer.Key()); err == nil && r.Simulated {
			t.Fatal("a simulated release is taken")
		}
		if p, _, err := ParsePlan(document); err == nil &&
			(p.Simulated || p.TermsDigest == "" || p.Delta > study.MaxDelta(p.MinUnits())) {
			t.Fatal("a plan is taken that daemons must refuse")
		}
		if signer.Key().Verify(ReceiptDocument, document,
			signer.Sign(ReleaseDocument, document)) == nil {
			t.Fatal("a release's signature passes for a receipt's")
		}
	})
}

// FuzzSigningRequest: a newcomer's request is refused, or carries a key that can be certified.
func FuzzSigningRequest(f *testing.F) {
	f.Add(must(must(NewEnrolment()).Request()))
	f.Add([]byte{0x30, 0x82})
	f.Fuzz(func(t *testing.T, der []byte) {
		if request, err := ParseSigningRequest(der); err == nil && request.PublicKey == nil {
			t.Fatal("a request without a key is taken")
		}
	})
}
