package protocol

import "caucus/protocol/pb"

// SignAddresses signs the addresses of a coordinator's replicas, with commas between them.
func SignAddresses(by *Signer, addresses string) *pb.Signed {
	return &pb.Signed{Document: []byte(addresses), Signature: by.Sign(AddressesDocument, []byte(addresses))}
}

// addressesOf reads what SignAddresses made with the newest key; "" for none. Errors wrap ErrDamaged.
func addressesOf(s *pb.Signed, by SignerKey) (string, error) {
	if s == nil {
		return "", nil
	}
	if err := by.Verify(AddressesDocument, s.Document, s.Signature); err != nil {
		return "", err
	}
	return string(s.Document), CheckAddresses(string(s.Document))
}
