package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study"
)

// signedSample is a release file with characters that JSON escapes.
func signedSample(t testing.TB) (SignedRelease, *Signer) {
	t.Helper()
	s := must(NewSigner())
	r := study.Release{Plan: []byte(`{"name":"<a & b>"}`)}
	r.Unit, r.Software, r.Contributed = privacy.Record, "<1>", []study.PartyID{"a", "b"}
	document := must(json.Marshal(r))
	return SignedRelease{Release: r, Document: document,
		Signature: s.Sign(ReleaseDocument, document), Signer: s.Key()}, s
}

// TestReleaseFile: a release file keeps the signed bytes under any change of white space; any other
// change is found.
func TestReleaseFile(t *testing.T) {
	r, s := signedSample(t)
	file := must(json.Marshal(r))
	var indented bytes.Buffer
	if err := json.Indent(&indented, file, "", "\t"); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{file, indented.Bytes(), append(indented.Bytes(), "\n\n"...)} {
		again := must(ReadRelease(text))
		if !bytes.Equal(again.Document, r.Document) || again.Release.Software != "<1>" {
			t.Errorf("%s", again.Document)
		}
		if err := again.Check(s.Key()); err != nil {
			t.Error(err)
		}
		if err := again.Check(must(NewSigner()).Key()); !errors.Is(err, ErrDamaged) {
			t.Errorf("another key: %v", err)
		}
	}
	changed := must(ReadRelease([]byte(strings.Replace(string(file), `["a","b"]`, `["a"]`, 1))))
	if err := changed.Check(s.Key()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a party left out: %v", err)
	}
	plan := SignedRelease{Document: r.Document, Signature: s.Sign(PlanDocument, r.Document),
		Signer: s.Key()}
	if err := plan.Check(s.Key()); !errors.Is(err, ErrDamaged) {
		t.Errorf("signed as a plan: %v", err)
	}
	unsigned := must(ReadRelease(must(json.Marshal(SignedRelease{Document: r.Document}))))
	if err := unsigned.Check(s.Key()); !errors.Is(err, ErrUnsigned) {
		t.Errorf("unsigned: %v", err)
	}
	for name, text := range map[string]string{
		"nothing":          "",
		"no release":       `{"signature":"AA=="}`,
		"an unknown field": strings.Replace(string(file), `"signer"`, `"signed_by"`, 1),
		"an unknown claim": strings.Replace(string(file), `"parties"`, `"hospitals"`, 1),
		"more":             string(file) + "{}",
		"a bare release":   string(r.Document),
	} {
		if _, err := ReadRelease([]byte(text)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func FuzzReadRelease(f *testing.F) {
	r, s := signedSample(f)
	f.Add(must(json.Marshal(r)))
	f.Fuzz(func(t *testing.T, text []byte) {
		again, err := ReadRelease(text)
		if err == nil && again.Check(s.Key()) == nil && !bytes.Equal(again.Document, r.Document) {
			t.Error("other bytes under the same signature")
		}
	})
}
