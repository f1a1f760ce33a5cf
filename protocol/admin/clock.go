package admin

import (
	"context"
	"time"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// ClockReport says what time it is for a coordinator, and whether the coordinator trusts that.
type ClockReport struct {
	// Now is the coordinator's time, and Skew is its lead over this machine's clock.
	Now  time.Time
	Skew time.Duration
	// DoubtReason says why the coordinator does not trust its clock and seals nothing by it; else
	// "".
	DoubtReason string
}

// Clock asks for the coordinator's time. With vouch, the operator confirms that the coordinator's
// clock is right.
func (c *Client) Clock(ctx context.Context, vouch bool) (ClockReport, error) {
	reply, err := protocol.Ask(ctx, c.Client, "ask the coordinator's clock", c.calls.Clock,
		&pb.ClockRequest{Vouch: vouch})
	if err != nil {
		return ClockReport{}, err
	}
	now := time.UnixMilli(reply.UnixMillis)
	return ClockReport{Now: now.UTC(), Skew: now.Sub(c.Now()), DoubtReason: reply.Doubt}, nil
}
