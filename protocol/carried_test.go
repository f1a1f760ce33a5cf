package protocol

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/study"
)

// FuzzCarried: a carried file that can be read is written again as the same bytes, and no bytes
// make a reader panic.
func FuzzCarried(f *testing.F) {
	e := must(NewEnrolment())
	request, _, err := e.RequestFile()
	must(0, err)
	f.Add(request)
	f.Add(must(pack{plan: Signed{Document: []byte("{}"), Signature: []byte("s")},
		notices: []carriedNotice{{Signed{Document: []byte("{}"), Signature: []byte("s")},
			[]byte("r")}}, pool: []byte("a,b\n")}.encode()))
	f.Add(AnswerFile.encode([]part{{"statement", []byte("{}")}, {"certificate", nil},
		{"signature", nil}, {"sealed", []byte("\n")}}))
	f.Add(EnrolmentFile.encode([]part{{"trust", []byte("{}")}, {"authority", nil},
		{"certificate", nil}}))
	f.Add(must(answered{Body: []byte("body")}.encode()))
	authorities := newTestAuthority(time.Unix(1e9, 0)).pool()
	f.Fuzz(func(t *testing.T, file []byte) {
		if p, err := decodePack(file); err == nil {
			if again := must(p.encode()); !bytes.Equal(again, file) {
				t.Fatalf("a pack of %d bytes is written as %d others", len(file), len(again))
			}
			if _, err := openPack(p, Keys{}, "p"); err == nil {
				t.Fatal("a pack that nobody signed is taken")
			}
		}
		if _, err := ReadAnswer(file, authorities, time.Unix(1e9, 0)); err == nil {
			t.Fatal("an answer that nobody signed is taken")
		}
		if a, err := decodeAnswered(file); err == nil && !errors.Is(err, ErrDamaged) {
			_ = must(a.encode())
		}
		if der, _, err := ReadRequest(file); err == nil &&
			!bytes.Equal(RequestFile.encode([]part{{"request", der}}), file) {
			t.Fatal("a request is written as other bytes")
		}
		if _, err := e.AcceptFile(file, ""); err == nil {
			t.Fatal("an enrolment that nobody signed is taken")
		}
	})
}

// TestCarriedFiles: a file of another kind is refused, and the error names its kind.
func TestCarriedFiles(t *testing.T) {
	e := must(NewEnrolment())
	request, _, err := e.RequestFile()
	must(0, err)
	text := string(request)
	for name, c := range map[string]struct{ file, says string }{
		"empty":           {"", `this is no caucus enrolment request, which begins with "caucus enrolment request 1"`},
		"another kind":    {PackFile.begins(), "this is a caucus study pack, and no caucus enrolment request"},
		"another version": {strings.Replace(text, " 1\n", " 2\n", 1), "was written by another version"},
		"invitation":      {invitationPrefix + "abc", "this is an invitation"},
		"no part":         {RequestFile.begins(), `its part "request" is missing`},
		"cut off":         {text[:len(text)-5], "5 bytes are missing"},
		"longer":          {text + "x 1\ny\n", `its part "x" should not be there`},
		"twice":           {text + strings.TrimPrefix(text, RequestFile.begins()), `its part "request" should not be there`},
		"a zero before":   {strings.Replace(text, "request ", "request 0", 2), ""},
		"huge":            {RequestFile.begins() + "request 99999999999999999999\n", "comes no part"},
		"no line":         {RequestFile.begins() + strings.Repeat("x", 500), "comes no part"},
	} {
		if _, _, err := ReadRequest([]byte(c.file)); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	file := filepath.Join(t.TempDir(), "a")
	must(0, WriteCarriedFile(file, RequestFile, request))
	must(0, WriteCarriedFile(file, RequestFile, request))
	if got := must(ReadCarriedFile(file, nil, RequestFile)); !bytes.Equal(got, request) {
		t.Error("it reads back as something else")
	}
	must(0, os.WriteFile(file, []byte("precious"), 0o600))
	if err := WriteCarriedFile(file, RequestFile, request); err == nil ||
		string(must(os.ReadFile(file))) != "precious" {
		t.Errorf("another file was written over: %v", err)
	}
	must(0, os.Truncate(file, maxCarried+1))
	if _, err := ReadCarriedFile(file, nil, RequestFile); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file that is too long: %v", err)
	}
}

// TestCarriedManyParts: a file of tiny parts costs its reader bounded memory, however long the file
// is.
func TestCarriedManyParts(t *testing.T) {
	const parts = 1 << 20
	file := append([]byte(PackFile.begins()), bytes.Repeat([]byte("a 0\n\n"), parts)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := decodePack(file)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("a pack of %d parts: %v", parts, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
		t.Errorf("%d bytes of parts cost %d bytes", len(file), took)
	}
	most := pack{plan: Signed{Document: []byte("{}"), Signature: []byte("s")},
		release: Signed{Document: []byte("{}"),
			Signature: []byte("s")}, sealKey: []byte("k"), pool: []byte("p")}
	for range MaxCarriedNotices {
		most.notices = append(most.notices,
			carriedNotice{Signed{Document: []byte("{}"), Signature: []byte("s")}, []byte("r")})
	}
	for range study.MaxAmendments {
		most.amendments = append(most.amendments,
			Signed{Document: []byte("{}"), Signature: []byte("s")})
	}
	if _, err := decodePack(must(most.encode())); err != nil {
		t.Errorf("the largest pack: %v", err)
	}
}

// TestCarriedAnswer: an answer opens for its plan and party only, after any change by a carrier or
// another party. Answer and receipt reveal nothing of the content.
func TestCarriedAnswer(t *testing.T) {
	now := time.Now()
	authority, signer := newTestAuthority(now), must(NewSigner())
	identity := func(name string, role Role) Identity {
		return authority.identity("h:1", name, role, signer.Key())
	}
	read := func(file []byte, now time.Time) (CarriedAnswer, error) {
		return ReadAnswer(file, authority.pool(), now)
	}
	ann, bob := identity("ann", RoleParty), identity("bob", RoleParty)
	kem, _, _ := SealSuite()
	pair := must(kem.GenerateKey())
	private, public := must(pair.Bytes()), pair.PublicKey().Bytes()
	plan, body := study.Hash{7}, bytes.Repeat([]byte("secret votes "), 20)
	sealed, key, err := answered{Body: body}.seal(public, plan, "ann")
	must(0, err)
	file := must(writeAnswer(ann, plan, public, sealed))
	if bytes.Contains(file, body[:13]) {
		t.Error("the body shows in the answer")
	}
	a := must(read(file, now))
	o := must(a.Open(private))
	if !bytes.Equal(o.Body, body) || !bytes.Equal(o.ReceiptKey, key) || a.Party.Name != "ann" ||
		a.Plan != plan || !a.SealedTo(public) {
		t.Errorf("it opens as %q of %s", o.Body, a.Party.Name)
	}
	// Answers with bodies of the same length have the same length, for any content and randomness.
	for n := range 200 {
		sealed, _, err := answered{Body: bytes.Repeat([]byte{byte(n)}, len(body))}.seal(public,
			plan, "ann")
		must(0, err)
		again := must(writeAnswer(ann, plan, public, sealed))
		must(read(again, now))
		if len(again) != len(file) {
			t.Fatalf("an answer has %d bytes, another %d", len(file), len(again))
		}
	}
	if _, err := read(bytes.Replace(file, []byte(" 2\n"), []byte(" 1\n"), 1),
		now); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("an answer of an earlier version: %v", err)
	}
	// Any changed byte is refused, when the answer is read or opened.
	for i := range file {
		changed := slices.Clone(file)
		changed[i] ^= 1
		if a, err := read(changed, now); err == nil {
			t.Errorf("byte %d changed: it is taken as an answer of %s", i, a.Party.Name)
		}
	}
	for name, c := range map[string]struct {
		file []byte
		open bool // refused when opened
		says string
	}{
		"another party's ciphertext": {must(writeAnswer(bob, plan, public, sealed)), true, "it was not sealed by bob"},
		"for another study":          {must(writeAnswer(ann, study.Hash{8}, public, sealed)), true, "for this study"},
		"an operator's":              {must(writeAnswer(identity("ann", RoleOperator), plan, public, sealed)), false, "is signed by operator ann"},
		"short":                      {must(writeAnswer(ann, plan, public, sealed[:100])), true, "too short"},
		"no ciphertext":              {must(writeAnswer(ann, plan, public, slices.Concat(sealed[:encapsulation], make([]byte, 40)))), true, "was changed"},
	} {
		a, err := read(c.file, now)
		if err == nil && c.open {
			_, err = a.Open(private)
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if _, err := a.Open(must(must(kem.GenerateKey()).Bytes())); !errors.Is(err, ErrDamaged) {
		t.Errorf("another key opens it: %v", err)
	}
	if _, err := ReadAnswer(file, newTestAuthority(now).pool(), now); !errors.Is(err, ErrDenied) {
		t.Errorf("another authority takes it: %v", err)
	}
	if _, err := read(file, now.Add(2*time.Hour)); !errors.Is(err,
		ErrExpired) {
		t.Errorf("an expired certificate: %v", err)
	}
	// A stranger's file is refused, and the error shows nothing that could harm a terminal: a
	// stranger chooses name and dates of its certificate.
	own := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject: pkix.Name{CommonName: "ann\x1b[2Jbob"}, NotBefore: now.Add(-2 * time.Hour),
		NotAfter: now.Add(-time.Hour)}
	der := must(x509.CreateCertificate(rand.Reader, template, template, own.Public(), own))
	forged := AnswerFile.encode([]part{{"statement", []byte("{}")}, {"certificate", der},
		{"signature", nil}, {"sealed", nil}})
	if _, err := read(forged, now); !errors.Is(err, ErrDenied) ||
		strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("a certificate that anybody made: %v", err)
	}
	// A refusal shows only in the length.
	none, _, err := answered{}.seal(public, plan, "ann")
	must(0, err)
	if o := must(must(read(must(writeAnswer(ann, plan, public, none)),
		now)).Open(private)); o.Body != nil {
		t.Errorf("no part is read as %q", o.Body)
	}
	// Only the author of the answer, for this plan and party, can open the receipt.
	r := must(Receipt{Plan: plan, Party: "ann", Body: study.BodyDigest{9}, Size: len(body),
		Received: now.UTC()}.Sign(signer))
	carried, again := must(r.Seal(key)), must(r.Seal(key))
	if bytes.Equal(carried, again) || bytes.Contains(carried, []byte("body")) {
		t.Error("a receipt is encrypted with the same nonce twice, or not at all")
	}
	if s := must(openReceipt(carried, [][]byte{make([]byte, receiptKeySize), key}, plan,
		"ann")); !bytes.Equal(s.Document, r.Document) {
		t.Error("the receipt is another one")
	}
	for name, bad := range map[string]func() (Signed, error){
		"key":   func() (Signed, error) { return openReceipt(carried, [][]byte{make([]byte, 32)}, plan, "ann") },
		"keys":  func() (Signed, error) { return openReceipt(carried, nil, plan, "ann") },
		"plan":  func() (Signed, error) { return openReceipt(carried, [][]byte{key}, study.Hash{8}, "ann") },
		"party": func() (Signed, error) { return openReceipt(carried, [][]byte{key}, plan, "bob") },
		"short": func() (Signed, error) { return openReceipt(carried[:5], [][]byte{key}, plan, "ann") },
	} {
		if _, err := bad(); !errors.Is(err, ErrDamaged) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// TestNotice: a notice must be signed with the coordinator's newest key, as a notice, in canonical
// form.
func TestNotice(t *testing.T) {
	signer, next := must(NewSigner()), must(NewSigner())
	n := Notice{Plan: study.Hash{1}, Party: "ann", At: time.Unix(9, 0).UTC(), State: study.Open,
		Ledger: privacy.Head{Sequence: 3}, SealKey: []byte{1, 2}}
	s := must(n.Sign(signer))
	keys := Keys{first: signer.Key()}
	if got := must(ParseNotice(s, keys)); got.Party != "ann" || got.Ledger != n.Ledger ||
		!bytes.Equal(got.SealKey, n.SealKey) {
		t.Errorf("reads back as %+v", got)
	}
	if head := must(ShownHead{NoticeDocument, s.Document,
		s.Signature}.Head(keys)); head != n.Ledger {
		t.Errorf("shows %v", head)
	}
	after := must(keys.Follow(must(Succession{From: signer.Key(), To: next.Key(),
		Authority: newTestAuthority(time.Now()).certificate.Raw, At: time.Now()}.Sign(signer))))
	if _, err := ParseNotice(s, after); !errors.Is(err, ErrDamaged) {
		t.Errorf("one of an earlier key: %v", err)
	}
	for _, document := range [][]byte{[]byte("{}"), bytes.Replace(s.Document, []byte(`"party"`), []byte(`"x":1,"party"`), 1), append(slices.Clone(s.Document), ' ')} {
		if _, err := ParseNotice(Signed{Document: document,
			Signature: signer.Sign(NoticeDocument, document)}, keys); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", document, err)
		}
	}
	if _, err := ParseNotice(Signed{Document: s.Document,
		Signature: signer.Sign(ReceiptDocument, s.Document)}, keys); err == nil {
		t.Error("a receipt's signature passes for a notice's")
	}
}

// TestFingerprints: a typed fingerprint matches in any case and grouping; another key's does not.
func TestFingerprints(t *testing.T) {
	_, one, err := must(NewEnrolment()).RequestFile()
	must(0, err)
	_, two, err := must(NewEnrolment()).RequestFile()
	must(0, err)
	if len(one) != 29 || !one.Matches(string(one)) ||
		!one.Matches(strings.ToUpper(strings.ReplaceAll(string(one), "-", " "))) ||
		one.Matches(string(two)) || one.Matches("") || one.Matches(string(one)[:28]) {
		t.Errorf("%s and %s", one, two)
	}
}
