package admin

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// InviteOptions say whom an operator invites, for how long, and where the newcomer dials. Name must
// pass CheckName, and is the one that the certificate will carry.
type InviteOptions struct {
	Name string
	// Role is RoleOperator or RoleParty; empty means RoleParty.
	Role protocol.Role
	// Valid is the lifetime; with 0 the coordinator decides.
	Valid time.Duration
	// Address is the host:port to dial; if it is empty, the coordinator decides.
	Address string
}

// inSeconds converts a lifetime for a request. 0 lets the coordinator decide. A lifetime below a
// second becomes -1, which the coordinator refuses.
func inSeconds(valid time.Duration) int64 {
	if seconds := int64(valid / time.Second); seconds != 0 || valid == 0 {
		return seconds
	}
	return -1
}

// Invite makes an invitation. Its text is a secret for the invited person.
func (c *Client) Invite(ctx context.Context, o InviteOptions) (string, time.Time, error) {
	reply, err := protocol.Ask(ctx, c.Client, "invite "+o.Name, c.calls.Invite, &pb.InviteRequest{
		Name: o.Name, Role: string(o.Role), ValidSeconds: inSeconds(o.Valid), Address: o.Address,
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return reply.Invitation, time.UnixMilli(reply.ExpiresUnixMillis).UTC(), nil
}

// Values of Member.Status.
const (
	StatusInvited  = "invited"
	StatusEnrolled = "enrolled"
	StatusExpired  = "expired" // the invitation or the last certificate expired
	StatusRevoked  = "revoked"
	StatusLeft     = "left" // the party revoked itself, on the day of TagLeft
)

// TagLeft is the key of the tag with the day on which a party left.
const TagLeft = "left"

// Statuses lists the values of Member.Status.
func Statuses() []string {
	return []string{StatusEnrolled, StatusInvited, StatusExpired, StatusRevoked, StatusLeft}
}

// Member is a party or an operator as the coordinator lists it, also if only invited.
type Member struct {
	Name    string        `json:"name"`
	Role    protocol.Role `json:"role"`
	Status  string        `json:"status"`
	Expires time.Time     `json:"expires"` // expiry of the newest certificate or invitation
	// LastCall is the last call since the coordinator started, else zero. InTwoProcesses says that
	// two processes use this identity.
	LastCall       time.Time `json:"seen,omitzero"`
	InTwoProcesses bool      `json:"in_two_places,omitempty"`
	Tags           Tags      `json:"tags,omitempty"`
	// token by which the party joined; empty if it was invited
	Token string `json:"token,omitempty"`
}

// wholeList allows a reply of 512 MiB, for a million members or for many tokens with thousands of
// names each. Other replies stay below 4 MiB.
var wholeList = grpc.MaxCallRecvMsgSize(512 << 20)

// LastCallText describes, for people, when a party last called. now is the coordinator's time. An
// operator or invited party gives "".
func (m Member) LastCallText(now time.Time) string {
	switch {
	case m.Role != protocol.RoleParty || m.Status == StatusInvited:
		return ""
	case m.LastCall.IsZero():
		return "not since the coordinator started"
	case m.InTwoProcesses:
		return protocol.TimeAgo(now.Sub(m.LastCall)) +
			", from two places at once: stop one, or enrol it anew"
	}
	return protocol.TimeAgo(now.Sub(m.LastCall))
}

// Members lists all members and open invitations, for operators alone. It waits at most the
// client's timeout; a million members fit in the reply.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	reply, err := protocol.Ask(ctx, c.Client, "list members", c.calls.ListMembers,
		&pb.ListMembersRequest{}, wholeList)
	if err != nil {
		return nil, err
	}
	all := make([]Member, len(reply.Members))
	for i, m := range reply.Members {
		all[i] = Member{m.Name, protocol.Role(m.Role), m.Status,
			time.UnixMilli(m.ExpiresUnixMillis).UTC(), protocol.TimeOf(m.SeenUnixMillis), m.Runs > 1, m.Tags, m.Token}
	}
	return all, nil
}

// Revoke ends a member's certificates and invitations at once.
func (c *Client) Revoke(ctx context.Context, name string) error {
	_, err := protocol.Ask(ctx, c.Client, "revoke "+name, c.calls.Revoke,
		&pb.RevokeRequest{Name: name})
	return err
}
