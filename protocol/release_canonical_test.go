package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestReleaseReadsOneWay: every JSON reader sees the same release.
func TestReleaseReadsOneWay(t *testing.T) {
	r, s := signedSample(t)
	file := must(json.Marshal(r))
	forged := append([]byte(`{"release":{"forged":true},"RELEASE":`), bytes.TrimPrefix(file, []byte(`{"release":`))...)
	if again, err := ReadRelease(forged); err == nil {
		t.Errorf("a release beside another was read; its signature: %v", again.Check(s.Key()))
	}
	document := bytes.Replace(r.Document, []byte(`"epsilon":0`), []byte(`"epsilon":0.01,"Epsilon":0`), 1)
	twice := SignedRelease{Document: document, Signature: s.Sign(ReleaseDocument, document),
		Signer: s.Key()}
	if again, err := ReadRelease(must(json.Marshal(twice))); err == nil {
		t.Errorf("two budgets were read as ε = %g; its signature: %v", again.Release.Epsilon, again.Check(s.Key()))
	}
	if _, err := ReadRelease(file[:len(file)/2]); err == nil ||
		!strings.Contains(err.Error(), "it ends in the middle: fetch it again") {
		t.Errorf("half a file: %v", err)
	}
}
