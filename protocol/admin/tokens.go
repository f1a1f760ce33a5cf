package admin

import (
	"context"
	"time"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// TokenOptions say how many parties may enrol by one join token, for how long, and how they are
// named. Quota counts enrolments, also of members revoked since.
type TokenOptions struct {
	Quota int
	// Valid is the lifetime; with 0 the coordinator decides.
	Valid time.Duration
	// Prefix begins the parties' names. By default it is the token's name and a dash.
	Prefix string
	// Tags are given to each party that the token enrols.
	Tags Tags
	// Address is the host:port to dial; if it is empty, the coordinator decides.
	Address string
}

// Statuses of a token. Only an open one enrols; revoked wins over expired, and expired over full.
const (
	TokenOpen    = "open"
	TokenFull    = "full"
	TokenExpired = "expired"
	TokenRevoked = "revoked"
)

// Token is a join token as operators see it.
type Token struct {
	ID      string    `json:"token"`
	Prefix  string    `json:"prefix"`
	Tags    Tags      `json:"tags,omitempty"`
	Quota   int       `json:"quota"`
	Used    int       `json:"used"`
	Status  string    `json:"status"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	By      string    `json:"by"` // the operator who made it
}

func tokenOf(t *pb.TokenState) Token {
	return Token{
		ID: t.GetId(), Prefix: t.GetPrefix(), Tags: t.GetTags(),
		Quota: int(t.GetQuota()), Used: int(t.GetUsed()), Status: t.GetStatus(), By: t.GetBy(),
		Created: time.UnixMilli(t.GetCreatedUnixMillis()).UTC(),
		Expires: time.UnixMilli(t.GetExpiresUnixMillis()).UTC(),
	}
}

// MakeToken makes a join token. Its text is a secret for the parties that will join.
func (c *Client) MakeToken(ctx context.Context, o TokenOptions) (string, Token, error) {
	reply, err := protocol.Ask(ctx, c.Client, "make join token", c.calls.MakeToken,
		&pb.MakeTokenRequest{
			Quota: uint32(min(max(o.Quota, 0), 1<<31)), ValidSeconds: inSeconds(o.Valid),
			Prefix: o.Prefix, Tags: o.Tags, Address: o.Address,
		})
	if err != nil {
		return "", Token{}, err
	}
	return reply.Token, tokenOf(reply.State), nil
}

// Tokens lists all join tokens, newest first.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	reply, err := protocol.Ask(ctx, c.Client, "list join tokens", c.calls.ListTokens,
		&pb.ListTokensRequest{}, wholeList)
	if err != nil {
		return nil, err
	}
	var all []Token
	for _, t := range reply.Tokens {
		all = append(all, tokenOf(t))
	}
	return all, nil
}

// RevokeToken ends a join token. With members it revokes and returns the parties that joined by it.
func (c *Client) RevokeToken(ctx context.Context, id string, members bool) ([]string, error) {
	reply, err := protocol.Ask(ctx, c.Client, "revoke join token "+id, c.calls.RevokeToken,
		&pb.RevokeTokenRequest{Id: id, Members: members})
	if err != nil {
		return nil, err
	}
	return reply.Revoked, nil
}

// Tag replaces a party's tags.
func (c *Client) Tag(ctx context.Context, name string, tags Tags) error {
	_, err := protocol.Ask(ctx, c.Client, "tag "+name, c.calls.Label,
		&pb.LabelRequest{Name: name, Tags: tags})
	return err
}
