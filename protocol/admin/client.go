package admin

import (
	"caucus/protocol"
	"caucus/protocol/pb"
)

// Client calls a coordinator as an operator. It has the calls of every client too, and like them is
// safe for concurrent use and must be closed.
type Client struct {
	*protocol.Client
	calls pb.AdministrationClient
}

// Dial prepares a client, as protocol.Dial does.
func Dial(id protocol.Identity, o protocol.DialOptions) (*Client, error) {
	c, err := protocol.Dial(id, o)
	if err != nil {
		return nil, err
	}
	return &Client{c, pb.NewAdministrationClient(c.Connection())}, nil
}
