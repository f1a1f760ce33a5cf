package conformance_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"testing"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/conformance"
)

// TestCommitment: a body in clear that is added up begins with 32 bytes of the site's own, made
// again equal, other for another site or plan, and dropped by the sum. Bodies with noise, and those
// of plans of earlier versions, have no such bytes.
func TestCommitment(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	body := func(p study.Plan, key []byte, rows int) []byte {
		t.Helper()
		task := conformance.TaskOf(t, p, pool)
		c, err := task.Contribute(study.NewInputs(records.Select(conformance.Seq(0, rows)), key))
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Body(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Mechanism, p.Unit, p.Delta, p.KindTerms = "cross", privacy.Record, 1e-6,
		conformance.EncodeTerms(classify.Terms{})
	before := body(p, []byte("a"), 60)
	p.Form = study.FormCommitted
	other := p
	other.Name = "other"
	a, again, b, c := body(p, []byte("a"), 60), body(p, []byte("a"), 60), body(p, []byte("b"),
		60), body(other, []byte("a"), 60)
	more := body(p, []byte("a"), 61)
	head := func(b []byte) []byte { return b[:sha256.Size] }
	switch {
	case !bytes.Equal(a, again):
		t.Error("made again, the body differs")
	case !bytes.Equal(a[sha256.Size:], before) || !bytes.Equal(b[sha256.Size:], before):
		t.Error("the numbers are not those of a plan without a commitment")
	case bytes.Equal(head(a), keyOf(p, []byte("a"))):
		t.Error("the coordinator gets the key by which the site assigns records (package keyed)")
	case bytes.Equal(head(a), head(b)) || bytes.Equal(head(a), head(c)):
		t.Error("two sites, or two plans, have one commitment")
	case !bytes.Equal(head(a), head(more)):
		t.Error("the commitment tells of the records")
	}
	task := conformance.TaskOf(t, p, pool)
	add := func(all ...[]byte) []byte {
		sum, err := task.NewSum()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			if err := sum.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		out, err := sum.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if !bytes.Equal(add(a, b), add(b, b)) || !bytes.Equal(add(a), add(b)) {
		t.Error("the sum depends on commitments")
	}
	sum, _ := task.NewSum()
	for _, bad := range [][]byte{nil, {}, a[:1], a[:31], before, head(a), a[1:],
		append(bytes.Clone(a), 0)} {
		if err := sum.Check(bad); !errors.Is(err, study.ErrContribution) {
			t.Errorf("a body of %d bytes: %v", len(bad), err)
		}
	}
}

// keyOf is the key of a site's shards, cuts and orders for a plan.
func keyOf(p study.Plan, siteKey []byte) []byte {
	canonical, _ := p.Canonical()
	plan := study.HashOf(canonical)
	mac := hmac.New(sha256.New, siteKey)
	mac.Write(append([]byte("study\x00"), plan[:]...))
	return mac.Sum(nil)
}

// TestForms: plans of forms that never were are refused, and the digest of a plan's terms covers
// its form.
func TestForms(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	p := conformance.ClassifyPlan(schema, pool, m)
	digests := map[string]int{}
	for form := -1; form <= study.FormCommitted+1; form++ {
		p.Form = form
		err := p.CheckCommon()
		if known := form == 0 || form == study.FormCommitted; known != (err == nil) {
			t.Errorf("form %d: %v", form, err)
		} else if known {
			d, err := study.TermsDigest(conformance.TaskOf(t, p, pool))
			if other, twice := digests[d]; err != nil || twice {
				t.Errorf("forms %d and %d have one digest of terms, %v", form, other, err)
			}
			digests[d] = form
		}
	}
}
