package protocol

import "caucus/protocol/pb"

// SignAddresses signs the addresses of a coordinator's replicas, with commas between them.
func SignAddresses(signer *Signer, addresses string) *pb.Signed {
	return &pb.Signed{Document: []byte(addresses), Signature: signer.Sign(AddressesDocument, []byte(addresses))}
}

// addressesOf checks that key signed the addresses (SignAddresses), and returns them. It returns "" if s is nil.
// Errors wrap ErrDamaged.
func addressesOf(s *pb.Signed, key SignerKey) (string, error) {
	if s == nil {
		return "", nil
	}
	if err := key.Verify(AddressesDocument, s.Document, s.Signature); err != nil {
		return "", err
	}
	return string(s.Document), CheckAddresses(string(s.Document))
}
