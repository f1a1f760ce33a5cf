package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"caucus/protocol/pb"
	"caucus/study"
)

// InviteOptions say whom an operator invites, for how long, and where the newcomer dials. Name must
// pass CheckName, and is the one that the certificate will carry.
type InviteOptions struct {
	Name string
	// Role is RoleOperator or RoleParty; empty means RoleParty.
	Role Role
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
	reply, err := ask(ctx, c, "invite "+o.Name, c.admin.Invite, &pb.InviteRequest{
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
)

// Member is a party or an operator.
type Member struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Status  string    `json:"status"`
	Expires time.Time `json:"expires"` // expiry of the newest certificate or invitation
	// Seen is the last call since the coordinator started, else zero. Twice says that two processes
	// use this identity.
	Seen  time.Time `json:"seen,omitzero"`
	Twice bool      `json:"in_two_places,omitempty"`
	Tags  Tags      `json:"tags,omitempty"`
	// token by which the party joined; empty if it was invited
	Token string `json:"token,omitempty"`
}

// wholeList allows a reply of 512 MiB, for a million members or for many tokens with thousands of
// names each. Other replies stay below 4 MiB.
var wholeList = grpc.MaxCallRecvMsgSize(512 << 20)

// Called describes, for people, when a party last called. now is the coordinator's time. An
// operator or invited party gives "".
func (m Member) Called(now time.Time) string {
	switch {
	case m.Role != RoleParty || m.Status == StatusInvited:
		return ""
	case m.Seen.IsZero():
		return "not since the coordinator started"
	case m.Twice:
		return TimeAgo(now.Sub(m.Seen)) + ", from two places at once: stop one, or enrol it anew"
	}
	return TimeAgo(now.Sub(m.Seen))
}

// Members lists all members and open invitations, for operators alone. It waits at most the
// client's timeout; a million members fit in the reply.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	reply, err := ask(ctx, c, "list members", c.admin.ListMembers, &pb.ListMembersRequest{},
		wholeList)
	if err != nil {
		return nil, err
	}
	all := make([]Member, len(reply.Members))
	for i, m := range reply.Members {
		all[i] = Member{m.Name, Role(m.Role), m.Status, time.UnixMilli(m.ExpiresUnixMillis).UTC(),
			timeOf(m.SeenUnixMillis), m.Runs > 1, m.Tags, m.Token}
	}
	return all, nil
}

// Revoke ends a member's certificates and invitations at once.
func (c *Client) Revoke(ctx context.Context, name string) error {
	_, err := ask(ctx, c, "revoke "+name, c.admin.Revoke, &pb.RevokeRequest{Name: name})
	return err
}

// CreateStudy stores a plan, in canonical bytes, as a draft at the coordinator, which must have the
// pool already. forecast is the operator's signed forecast, or nil. A repeated call changes
// nothing, and a draft keeps its forecast.
func (c *Client) CreateStudy(ctx context.Context, plan, forecast []byte) (Study, error) {
	p, hash, err := ParsePlan(plan)
	if err != nil {
		return Study{}, fmt.Errorf("create study: %w", err)
	}
	header := &pb.PlanHeader{Hash: hash[:], Size: uint64(len(plan)), Forecast: forecast}
	s, err := changed(ctx, c, "create", p.Name, func(ctx context.Context, header *pb.PlanHeader,
		_ ...grpc.CallOption) (*pb.Summary, error) {
		stream, err := c.admin.CreateStudy(ctx)
		if err != nil {
			return nil, err
		}
		err = stream.Send(&pb.CreateStudyRequest{
			Part: &pb.CreateStudyRequest_Header{Header: header}})
		for chunk := range Chunks(plan, 0) {
			if err != nil {
				break // io.EOF: the server has answered already
			}
			err = stream.Send(&pb.CreateStudyRequest{Part: &pb.CreateStudyRequest_Chunk{Chunk: chunk}})
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return stream.CloseAndRecv()
	}, header)
	if err == nil && s.Hash != hash {
		return Study{}, fmt.Errorf("create study %s: %w: the coordinator stored another plan", p.Name, ErrDamaged)
	}
	return s, err
}

// Open lets a study's parties contribute. The plan is fixed from then on.
func (c *Client) Open(ctx context.Context, ref string) (Study, error) {
	return changed(ctx, c, "open", ref, c.admin.OpenStudy, &pb.StudyRequest{Study: ref})
}

// Cancel fails an unreleased study for a public reason.
func (c *Client) Cancel(ctx context.Context, ref, reason string) (Study, error) {
	return changed(ctx, c, "cancel", ref, c.admin.CancelStudy,
		&pb.CancelRequest{Study: ref, Reason: reason})
}

// Waive lets a study be released without waiting for the parties that Study.Awaited lists.
func (c *Client) Waive(ctx context.Context, ref string) (Study, error) {
	return changed(ctx, c, "waive the witnesses of", ref, c.admin.Waive,
		&pb.StudyRequest{Study: ref})
}

// ClockReport is a coordinator's clock.
type ClockReport struct {
	// Now is the coordinator's time, and Skew is its lead over this machine's clock.
	Now  time.Time
	Skew time.Duration
	// Doubt says why the coordinator does not trust its clock and seals nothing by it; else "".
	Doubt string
}

// Clock asks for the coordinator's time. With vouch, the operator confirms that the coordinator's
// clock is right.
func (c *Client) Clock(ctx context.Context, vouch bool) (ClockReport, error) {
	reply, err := ask(ctx, c, "ask the coordinator's clock", c.admin.Clock,
		&pb.ClockRequest{Vouch: vouch})
	if err != nil {
		return ClockReport{}, err
	}
	now := time.UnixMilli(reply.UnixMillis)
	return ClockReport{Now: now.UTC(), Skew: now.Sub(c.now()), Doubt: reply.Doubt}, nil
}

// changed makes a call that changes a study, and returns the study after the change.
func changed[Q any](ctx context.Context, c *Client, verb, ref string, call unary[Q, pb.Summary],
	request *Q) (Study, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	fail := func(err error) (Study, error) {
		return Study{}, fmt.Errorf("%s study %s: %w", verb, ref, err)
	}
	reply, err := call(ctx, request)
	if err != nil {
		return fail(FromStatus(err))
	}
	summary, err := summaryOf(reply)
	if err != nil {
		return fail(err)
	}
	s, err := c.show(ctx, summary.Hash.String())
	if err != nil {
		return fail(err)
	}
	return s, nil
}

// Final reports whether a study is over: released, or failed. An amendment may still reopen a
// failed one if no noise was drawn.
func Final(s study.State) bool { return s == study.Released || s == study.Failed }
