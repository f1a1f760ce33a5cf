package admin

import (
	"context"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// Certify asks the coordinator to certify a carried request, and makes the file for the party.
// coordinator is the fingerprint that the party must compare.
func (c *Client) Certify(ctx context.Context, name string, request []byte) (file []byte,
	coordinator protocol.Fingerprint, err error) {
	reply, err := protocol.Ask(ctx, c.Client, "certify "+name, c.calls.Certify,
		&pb.CertifyRequest{Name: name, SigningRequest: request})
	if err != nil {
		return nil, "", err
	}
	return c.EnrolmentFile(reply.Coordinator, reply.Certificate)
}
