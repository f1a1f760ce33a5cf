package protocol

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"caucus/protocol/pb"
	"caucus/study"
)

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestSignatures: a signature holds for one document of one kind by one key.
func TestSignatures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	made := must(NewSigner())
	must(0, made.Save(path))
	s := must(LoadSigner(path))
	document := []byte("document")
	signature := s.Sign(PlanDocument, document)
	if err := made.Key().Verify(PlanDocument, document, signature); err != nil {
		t.Error(err)
	}
	changed := slices.Clone(signature)
	changed[5]++
	for what, err := range map[string]error{
		"other kind":     s.Key().Verify(ReleaseDocument, document, signature),
		"other document": s.Key().Verify(PlanDocument, []byte("Document"), signature),
		"other key":      must(NewSigner()).Key().Verify(PlanDocument, document, signature),
		"changed":        s.Key().Verify(PlanDocument, document, changed),
		"short":          s.Key().Verify(PlanDocument, document, signature[:63]),
		"none":           s.Key().Verify(PlanDocument, document, nil),
	} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var k SignerKey
	if err := k.UnmarshalText(must(s.Key().MarshalText())); err != nil || k != s.Key() {
		t.Errorf("key as text: %v", err)
	}
}

// TestChunks: data sent from any offset arrives unchanged.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := make([]byte, rapid.SampledFrom([]int{0, 1, ChunkSize - 1, ChunkSize, ChunkSize + 1,
			3*ChunkSize + 7}).Draw(t, "size"))
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		offset := rapid.IntRange(0, len(data)).Draw(t, "offset")
		a := Assembly{Size: uint64(len(data)), Data: slices.Clone(data[:offset])}
		for c := range Chunks(data, uint64(offset)) {
			if len(c.Data) > ChunkSize {
				t.Fatalf("a chunk of %d bytes", len(c.Data))
			}
			if err := a.Add(c); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := a.Complete(); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes of %d: %v", len(got), len(data), err)
		}
	})
}

// TestEmptyChunks: a sender must make progress; only the end may be an empty chunk, once.
func TestEmptyChunks(t *testing.T) {
	empty := &pb.Chunk{}
	for name, test := range map[string]struct {
		a     Assembly
		chunk *pb.Chunk
		want  []error
	}{
		"before the end":  {Assembly{Size: 4}, empty, []error{ErrDamaged}},
		"an empty whole":  {Assembly{}, empty, []error{nil, ErrDamaged}},
		"nothing is left": {Assembly{Size: 4, Data: []byte("data")}, &pb.Chunk{Offset: 4}, []error{nil, ErrDamaged, ErrDamaged}},
	} {
		for i, want := range test.want {
			if err := test.a.Add(test.chunk); !errors.Is(err, want) {
				t.Errorf("%s: chunk %d: %v, want %v", name, i, err, want)
			}
		}
	}
}

// FuzzAssembly: no chunk makes an assembly hold more than its announced size.
func FuzzAssembly(f *testing.F) {
	f.Add([]byte("data"), uint64(0), uint32(1), uint64(4))
	f.Fuzz(func(t *testing.T, data []byte, offset uint64, crc uint32, size uint64) {
		a := Assembly{Size: size}
		for _, c := range []*pb.Chunk{nil, {Offset: offset, Data: data, Crc32C: crc},
			{Data: data, Crc32C: crc}} {
			_ = a.Add(c)
		}
		if uint64(len(a.Data)) > size {
			t.Fatalf("%d bytes of %d", len(a.Data), size)
		}
	})
}

// TestErrorsTravel: every error with a reason is the same error at the other end.
func TestErrorsTravel(t *testing.T) {
	for _, r := range reasons {
		there := fmt.Errorf("contribute: %w: resend the first", r.err)
		here := FromStatus(Status(there))
		if !errors.Is(here, r.err) || here.Error() != there.Error() ||
			status.Code(Status(there)) != r.code {
			t.Errorf("%v arrives as %v", there, here)
		}
		for _, other := range reasons {
			if other.err != r.err && errors.Is(here, other.err) {
				t.Errorf("%v arrives as %v too", there, other.err)
			}
		}
	}
	if here := FromStatus(Status(errors.New("secret"))); strings.Contains(here.Error(), "secret") ||
		!IsRetryable(here) {
		t.Errorf("an internal error arrives as %v", here)
	}
	for code, want := range map[codes.Code]error{
		codes.Unavailable: ErrUnavailable, codes.DeadlineExceeded: ErrUnavailable, codes.Canceled: context.Canceled, codes.Unimplemented: ErrInvalid,
	} {
		if here := FromStatus(status.Error(code, "text")); !errors.Is(here, want) {
			t.Errorf("%v arrives as %v", code, here)
		}
	}
	if FromStatus(nil) != nil || Status(nil) != nil {
		t.Error("no error is an error")
	}
}

// FuzzInvitation: any pasted text is read or refused.
func FuzzInvitation(f *testing.F) {
	authority, key := newTestAuthority(time.Now()), must(NewKey())
	v := Invitation{Coordinator: "h:1", Name: "n", Role: RoleParty,
		Expires: time.Now().Add(time.Hour), CA: authority.certificate.Raw,
		Certificate: authority.issue("n", RoleInvitation, key.Public()).Raw,
		Key:         must(x509.MarshalPKCS8PrivateKey(key))}
	f.Add(v.String())
	f.Add(invitationPrefix + "e30")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseInvitation(text)
		if err != nil {
			return
		}
		if again, err := ParseInvitation(v.String()); err != nil || again.Name != v.Name ||
			!bytes.Equal(again.Key, v.Key) {
			t.Errorf("%q reads as %+v, then %+v, %v", text, v, again, err)
		}
	})
}

func TestReceipts(t *testing.T) {
	s := must(NewSigner())
	r := must(Receipt{Plan: study.Hash{1}, Party: "p", Body: study.BodyDigest{2}, Size: 3,
		Received: time.Unix(9, 0).UTC()}.Sign(s))
	got := must(ParseReceipt(r.Document, r.Signature, s.Key()))
	if got.Plan != r.Plan || got.Party != r.Party || got.Body != r.Body || got.Size != 3 ||
		!got.Received.Equal(r.Received) {
		t.Errorf("receipt %+v", got)
	}
	if _, err := ParseReceipt(append(r.Document, ' '), r.Signature, s.Key()); !errors.Is(err,
		ErrDamaged) {
		t.Errorf("changed: %v", err)
	}
}
