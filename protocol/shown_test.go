package protocol

import (
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/protocol/pb"
	"caucus/study"
)

// TestShown: a head, a receipt and a release show the ledger's head, if the coordinator signed them
// as such documents.
func TestShown(t *testing.T) {
	signer := must(NewSigner())
	head := privacy.Head{Sequence: 7, Hash: privacy.Digest{7}}
	receipt := must(Receipt{Plan: study.Hash{1}, Party: "p", Ledger: head}.Sign(signer))
	signed := SignedHead(head, signer)
	if again := SignedHead(head, signer); string(again.Document) != string(signed.Document) ||
		string(again.Signature) != string(signed.Signature) {
		t.Error("the same head is signed as other bytes")
	}
	for what, s := range map[string]ShownHead{"head": signed,
		"receipt": {ReceiptDocument, receipt.Document, receipt.Signature}} {
		if have, err := s.Head(signer.Key()); err != nil || have != head {
			t.Errorf("%s: %v, %v", what, have, err)
		}
		made := s
		made.Document = []byte(strings.Replace(string(s.Document), `"sequence":7`, `"sequence":9`, 1))
		other := s
		other.Kind = PlanDocument
		long := s
		long.Document = append(make([]byte, 0, MaxShownBytes+1), s.Document...)[:MaxShownBytes+1]
		for how, bad := range map[string]ShownHead{"a made-up number": made, "another kind": other,
			"nothing": {}, "too long": long} {
			if have, err := bad.Head(signer.Key()); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, %s: %v, %v", what, how, have, err)
			}
		}
		if _, err := s.Head(must(NewSigner()).Key()); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s of another signer: %v", what, err)
		}
	}
}

// TestHelperLines: two lines of one helper contradict each other if the helper had forgotten one
// when it signed the other, whatever lies between them. Remembered lines survive a restart, and
// several processes share them.
func TestHelperLines(t *testing.T) {
	at := func(key, step, sequence, hash, previous byte) HelperRelease {
		return HelperRelease{Key: SignerKey{key}, Step: int64(step),
			LedgerHead: privacy.Head{Sequence: int64(sequence),
				Hash: privacy.Digest{hash}}, Previous: privacy.Digest{previous}}
	}
	good := []HelperRelease{at(1, 9, 2, 2, 1), at(2, 5, 2, 7, 1), at(1, 30, 3, 3, 2),
		at(1, 40, 9, 9, 8)}
	for name, c := range map[string]struct {
		more HelperRelease
		back bool
	}{
		"an older one":                {at(1, 4, 1, 1, 0), false},
		"the same":                    {good[0], false},
		"one in between":              {at(1, 33, 5, 5, 4), false},
		"another helper's":            {at(3, 9, 2, 9, 1), false},
		"a number again":              {at(1, 31, 3, 4, 2), true},
		"a step again":                {at(1, 30, 4, 4, 3), true},
		"later, with an older ledger": {at(1, 31, 1, 1, 0), true},
		"after a line that is not":    {at(1, 35, 4, 4, 7), true},
		"before a line that is not":   {at(1, 35, 8, 7, 7), true},
	} {
		if err := CheckHelperReleases(append(slices.Clone(good), c.more)); (err != nil) != c.back {
			t.Errorf("%s: %v", name, err)
		}
	}

	helper, keys := must(NewSigner()), must(NewSigner()).Key()
	made := func(id string) (r study.Release) {
		ledger := must(privacy.Open(privacy.NewMemoryJournal(), privacy.Config{}))
		must(0, ledger.Spend(t.Context(), id,
			privacy.Cost{Unit: privacy.Record, Pure: big.NewRat(1, 1), Rho: big.NewRat(1, 2)}))
		line, _, err := ledger.FindLine(t.Context(), id)
		must(0, err)
		r.Published = [][]byte{{1}, []byte(id)}
		r.Aggregated = &study.TwoServerProof{HelperLine: &line, Step: 3,
			Keys: [2]string{"", helper.Key().String()}}
		r.Aggregated.Shares[1] = helper.Sign(ShareDocument, AggregateShareOf(r, 1).Document)
		return r
	}
	path := filepath.Join(t.TempDir(), "memory")
	m, other := must(openMemory(path, keys)), must(openMemory(path, keys))
	forged := made("c")
	forged.Aggregated.Step++
	must(0, m.keepHelper(forged, keys))
	must(0, m.keepHelper(made("a"), keys))
	must(0, m.helperBack())
	must(0, other.keepHelper(made("b"), keys))
	for name, m := range map[string]*memory{"that saw the second": other,
		"that starts": must(openMemory(path, keys))} {
		if m.helperBack() == nil || len(m.helpers) != 2 {
			t.Errorf("a process %s says nothing of a helper that went back, and keeps %d", name, len(m.helpers))
		}
	}
}

// TestMemory: the newest document survives restarts and is shared by clients of one identity; a
// contradicting document does not replace it.
func TestMemory(t *testing.T) {
	signer := must(NewSigner())
	path := filepath.Join(t.TempDir(), "memory")
	at := func(n int64, hash byte) (ShownHead, privacy.Head) {
		h := privacy.Head{Sequence: n, Hash: privacy.Digest{hash}}
		return SignedHead(h, signer), h
	}
	m, other := must(openMemory(path, signer.Key())), must(openMemory(path, signer.Key()))
	for _, step := range []struct {
		of   *memory
		n    int64
		hash byte
		want privacy.Head
	}{
		{m, 0, 0, privacy.Head{}},
		{m, 3, 3, privacy.Head{Sequence: 3, Hash: privacy.Digest{3}}},
		{m, 2, 2, privacy.Head{Sequence: 3, Hash: privacy.Digest{3}}},
		{m, 3, 9, privacy.Head{Sequence: 3, Hash: privacy.Digest{3}}},
		{other, 2, 9, privacy.Head{Sequence: 3, Hash: privacy.Digest{3}}},
		{other, 4, 4, privacy.Head{Sequence: 4, Hash: privacy.Digest{4}}},
		{m, 4, 9, privacy.Head{Sequence: 4, Hash: privacy.Digest{4}}},
	} {
		s, h := at(step.n, step.hash)
		must(0, step.of.keep(s, h, signer.Key()))
		if _, have := must(openMemory(path, signer.Key())).newest(); have != step.want {
			t.Errorf("after entry %d: %v is kept, want %v", step.n, have, step.want)
		}
	}
	must(0, os.WriteFile(path, []byte("{"), 0o600))
	if _, err := openMemory(path, signer.Key()); err == nil ||
		!strings.Contains(err.Error(), "remove it if") {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestKeys: a key is followed only under a signature of the key before.
func TestKeys(t *testing.T) {
	now := time.Now()
	signers := []*Signer{must(NewSigner()), must(NewSigner()), must(NewSigner()), must(NewSigner())}
	authority := newTestAuthority(now).certificate.Raw
	link := func(from, to, by int) Signed {
		return must(Succession{From: signers[from].Key(), To: signers[to].Key(),
			Authority: authority, At: now}.Sign(signers[by]))
	}
	good := []Signed{link(0, 1, 0), link(1, 2, 1)}
	k := must(FollowKeys(signers[0].Key(), good))
	if k.Newest() != signers[2].Key() || !k.Contains(signers[1].Key()) ||
		k.Contains(signers[3].Key()) {
		t.Errorf("newest %s", k.Newest())
	}
	for i, s := range signers {
		err := k.Verify(PlanDocument, []byte("x"), s.Sign(PlanDocument, []byte("x")))
		if (err == nil) != (i < 3) {
			t.Errorf("signed by key %d: %v", i, err)
		}
	}
	for i, want := range []int{2, 1, 0, 2} {
		if have := len(k.SuccessionsSince(signers[i].Key())); have != want {
			t.Errorf("since key %d: %d successions, want %d", i, have, want)
		}
	}
	back := must(json.Marshal(Succession{From: signers[2].Key(), To: signers[0].Key(),
		Authority: authority}))
	for what, all := range map[string][]Signed{
		"signed by another":         {link(0, 1, 3)},
		"signed by the new one":     {link(0, 1, 1)},
		"a step left out":           {link(1, 2, 1)},
		"another after the first":   {link(0, 1, 0), link(0, 2, 0)},
		"back to the first":         append(good[:2:2], Signed{Document: back, Signature: signers[2].Sign(SuccessionDocument, back)}),
		"without an authority":      {must(Succession{From: signers[0].Key(), To: signers[1].Key()}.Sign(signers[0]))},
		"signed as something else":  {{Document: good[0].Document, Signature: signers[0].Sign(PlanDocument, good[0].Document)}},
		"more than anybody follows": make([]Signed, MaxSuccessions+1),
	} {
		if _, err := FollowKeys(signers[0].Key(), all); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if again := must(FollowKeys(signers[0].Key(),
		append(good[:2:2], good[0]))); len(again.Successions()) != 2 {
		t.Error("a step that is known already is taken twice")
	}
}

// TestSignedWithin: documents that a coordinator passes on have bounded size, so it cannot fill a
// party's disk.
func TestSignedWithin(t *testing.T) {
	p := &pb.Signed{Document: make([]byte, MaxForecastBytes), Signature: make([]byte, 64)}
	if s, err := signedWithin(p, MaxForecastBytes+64, "a forecast"); err != nil ||
		len(s.Document) != MaxForecastBytes {
		t.Errorf("the largest: %v", err)
	}
	if _, err := signedWithin(p, MaxForecastBytes+63, "a forecast"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	if s, err := signedWithin(nil, 0, "a forecast"); err != nil || s.Document != nil {
		t.Errorf("none: %+v, %v", s, err)
	}
}
