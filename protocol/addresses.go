package protocol

import (
	"encoding/json"
	"fmt"

	"caucus/protocol/pb"
)

// Sign signs the list, and then again with its number if it has one. Both are nil if there is no
// list.
func (a Addresses) Sign(signer *Signer) (*pb.Signed, *pb.Signed) {
	sign := func(kind DocumentKind, text []byte) *pb.Signed {
		return &pb.Signed{Document: text, Signature: signer.Sign(kind, text)}
	}
	if a.List == "" {
		return nil, nil
	}
	plain := sign(AddressesDocument, []byte(a.List))
	if a.Number == 0 {
		return plain, nil
	}
	text, _ := json.Marshal(a)
	return plain, sign(NumberedAddressesDocument, text)
}

// addressesOf checks that key signed the addresses (Sign), and returns them, with their number if
// they have one. Both may be nil. Errors wrap ErrDamaged.
func addressesOf(plain, numbered *pb.Signed, key SignerKey) (Addresses, error) {
	var a Addresses
	switch {
	case numbered != nil:
		err := key.Verify(NumberedAddressesDocument, numbered.Document, numbered.Signature)
		if err != nil {
			return a, err
		}
		if json.Unmarshal(numbered.Document, &a) != nil {
			return Addresses{}, fmt.Errorf("%w: a list of addresses is no JSON", ErrDamaged)
		}
	case plain != nil:
		err := key.Verify(AddressesDocument, plain.Document, plain.Signature)
		if err != nil {
			return a, err
		}
		a.List = string(plain.Document)
	default:
		return a, nil
	}
	if err := CheckAddresses(a.List); err != nil {
		return Addresses{}, err
	}
	return a, nil
}
