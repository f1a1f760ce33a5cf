package protocol

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"caucus/protocol/pb"
)

// Succession hands over from a coordinator's signing key and authority to new ones. The old key
// signs it, so whoever trusts the old key can trust the new key.
type Succession struct {
	From SignerKey `json:"from"`
	To   SignerKey `json:"to"`
	// Authority is the new authority's certificate, DER.
	Authority []byte    `json:"authority"`
	At        time.Time `json:"at"`
}

// Sign makes the document. old must be the signer of From.
func (s Succession) Sign(old *Signer) (Signed, error) {
	return SignJSON(old, SuccessionDocument, s)
}

// MaxSuccessions bounds the key changes, which are years apart; an identity with all of them takes
// 31 KB.
const MaxSuccessions = 32

// Keys are a coordinator's signing keys, from a trusted key to the newest. A signature by any of
// them is valid.
type Keys struct {
	first  SignerKey
	signed []Signed
	links  []Succession
}

// FollowKeys follows successions, oldest first, from a trusted key. Errors wrap ErrDamaged.
func FollowKeys(first SignerKey, successions []Signed) (Keys, error) {
	k := Keys{first: first}
	if len(successions) > MaxSuccessions {
		return k, fmt.Errorf("%w: %d successions of a signing key", ErrDamaged, len(successions))
	}
	for _, s := range successions {
		var err error
		if k, err = k.Follow(s); err != nil {
			return k, err
		}
	}
	return k, nil
}

// Follow adds one succession. One that is known already changes nothing.
func (k Keys) Follow(s Signed) (Keys, error) {
	var link Succession
	if err := json.Unmarshal(s.Document, &link); err != nil {
		return k, fmt.Errorf("%w: succession: %v", ErrDamaged, err)
	}
	if err := link.From.Verify(SuccessionDocument, s.Document, s.Signature); err != nil {
		return k, err
	}
	if _, err := x509.ParseCertificate(link.Authority); err != nil {
		return k, fmt.Errorf("%w: succession: its authority: %v", ErrDamaged, err)
	}
	switch {
	case slices.ContainsFunc(k.signed, func(had Signed) bool {
		return string(had.Document) == string(s.Document)
	}):
		return k, nil
	case link.From != k.Newest():
		return k, fmt.Errorf("%w: a succession from key %s, and not from %s", ErrDamaged, link.From,
			k.Newest())
	case k.Contains(link.To):
		return k, fmt.Errorf("%w: a succession back to key %s", ErrDamaged, link.To)
	}
	k.signed, k.links = append(slices.Clone(k.signed), s), append(slices.Clone(k.links), link)
	return k, nil
}

// FollowAll adds the successions that continue from the newest key, and ignores the others.
func (k Keys) FollowAll(successions []Signed) Keys {
	for _, s := range successions {
		if next, err := k.Follow(s); err == nil && len(next.links) <= MaxSuccessions {
			k = next
		}
	}
	return k
}

// First returns the key that was trusted at the start.
func (k Keys) First() SignerKey { return k.first }

// Newest returns the key that signs now. Statements about the present must be by it, as an earlier
// one may be in other hands.
func (k Keys) Newest() SignerKey {
	if n := len(k.links); n > 0 {
		return k.links[n-1].To
	}
	return k.first
}

// Contains reports whether key is, or once was, the coordinator's.
func (k Keys) Contains(key SignerKey) bool {
	return key == k.first || slices.ContainsFunc(k.links, func(l Succession) bool {
		return l.To == key
	})
}

func (k Keys) after() (all []SignerKey) {
	for _, l := range k.links {
		all = append(all, l.To)
	}
	return all
}

// Successions returns the signed successions from the first key.
func (k Keys) Successions() []Signed { return k.signed }

// Authority returns the newest authority's certificate, DER. It is nil if the authority never
// changed.
func (k Keys) Authority() []byte {
	if n := len(k.links); n > 0 {
		return k.links[n-1].Authority
	}
	return nil
}

// SuccessionsSince returns the successions after key, or all if key is unknown.
func (k Keys) SuccessionsSince(key SignerKey) []Signed {
	i := slices.IndexFunc(k.links, func(l Succession) bool { return l.To == key })
	return k.signed[i+1:]
}

// Verify checks that one of the keys signed. It tries the newest first.
func (k Keys) Verify(d DocumentKind, document, signature []byte) error {
	err := k.Newest().Verify(d, document, signature)
	for i := len(k.links) - 1; i >= 0 && err != nil; i-- {
		if k.links[i].From.Verify(d, document, signature) == nil {
			return nil
		}
	}
	return err
}

// SignedToProto copies documents to the wire's form, in order, without checking signatures.
func SignedToProto(all []Signed) (out []*pb.Signed) {
	for _, s := range all {
		out = append(out, &pb.Signed{Document: s.Document, Signature: s.Signature})
	}
	return out
}

// SignedFromProto copies documents from the wire's form, in order, without checking signatures.
func SignedFromProto(all []*pb.Signed) (out []Signed) {
	for _, s := range all {
		out = append(out, Signed{Document: s.GetDocument(), Signature: s.GetSignature()})
	}
	return out
}
