package protocol

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"caucus/internal/clock"
	"caucus/protocol/pb"
)

// A join token is an invitation for many parties: its holder enrols parties up to the token's
// quota. It is an Invitation with the token's name and RoleToken. The coordinator stores the serial
// of the token's certificate, but not its key.

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
		ID: t.GetId(), Prefix: t.GetPrefix(), Tags: t.GetTags(), Quota: int(t.GetQuota()), Used: int(t.GetUsed()), Status: t.GetStatus(),
		Created: time.UnixMilli(t.GetCreatedUnixMillis()).UTC(), Expires: time.UnixMilli(t.GetExpiresUnixMillis()).UTC(), By: t.GetBy(),
	}
}

// MakeToken makes a join token. Its text is a secret for the parties that will join.
func (c *Client) MakeToken(ctx context.Context, o TokenOptions) (string, Token, error) {
	reply, err := ask(ctx, c, "make join token", c.admin.MakeToken, &pb.MakeTokenRequest{
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
	reply, err := ask(ctx, c, "list join tokens", c.admin.ListTokens, &pb.ListTokensRequest{},
		wholeList)
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
	reply, err := ask(ctx, c, "revoke join token "+id, c.admin.RevokeToken,
		&pb.RevokeTokenRequest{Id: id, Members: members})
	if err != nil {
		return nil, err
	}
	return reply.Revoked, nil
}

// Tag replaces a party's tags.
func (c *Client) Tag(ctx context.Context, name string, tags Tags) error {
	_, err := ask(ctx, c, "tag "+name, c.admin.Label, &pb.LabelRequest{Name: name, Tags: tags})
	return err
}

// joinPatience bounds Join's retries. The coordinator takes 20 calls a second for each token.
const joinPatience = 2 * time.Minute

// Join redeems one place of a join token, under a name with the token's prefix. If name is empty,
// the coordinator chooses one. The same enrolment gets the same certificate again and takes no
// second place. Join retries while the coordinator is busy.
func Join(ctx context.Context, v Invitation, e Enrolment, name string,
	o DialOptions) (Identity, error) {
	if v.Role != RoleToken {
		return Identity{}, fmt.Errorf("join: %w: this is no join token, but an invitation of %s %s", ErrInvalid, v.Role, v.Name)
	}
	if name != "" && !strings.HasPrefix(name, v.Prefix) { // refuse early, as the coordinator would
		return Identity{}, fmt.Errorf("join as %s: %w: this token's names begin with %s: leave the name away, and the coordinator gives one", name, ErrInvalid, v.Prefix)
	}
	sleeper, waited := clock.Clock{}.Complete(), time.Duration(0)
	for wait := time.Second; ; wait = min(2*wait, 16*time.Second) {
		id, err := redeem(ctx, v, e, name, o)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, ErrBusy) || waited > joinPatience {
			return Identity{}, fmt.Errorf("join by token %s: %w", v.Name, err)
		}
		waited += wait
		// so that parties refused at the same time do not all retry at the same time
		if !sleeper.Sleep(ctx, wait/2+rand.N(wait/2)) {
			return Identity{}, ctx.Err()
		}
	}
}
