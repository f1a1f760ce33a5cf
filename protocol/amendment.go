package protocol

import (
	"context"
	"time"

	"caucus/protocol/pb"
	"caucus/study"
)

// CloseStudy seals an open study with what is there; study.ErrTooFew below its minimum.
func (c *Client) CloseStudy(ctx context.Context, ref string) (Study, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.changed(ctx, "close", ref, func() (*pb.Summary, error) {
		return c.admin.CloseStudy(ctx, &pb.StudyRequest{Study: ref})
	})
}

// AmendOptions say what to change of when a study ends; what is zero stays.
type AmendOptions struct {
	Deadline time.Time
	Minimum  int
	// Seal is the rule that seals it before its deadline; SealWhenAll drops that.
	Seal        *study.SealRule
	SealWhenAll bool
}

// Amend changes when an open study ends, or takes up a failed one again.
func (c *Client) Amend(ctx context.Context, ref string, o AmendOptions) (Study, error) {
	request := &pb.AmendRequest{Study: ref, Minimum: uint32(max(o.Minimum, 0)), SealWhenAll: o.SealWhenAll}
	if !o.Deadline.IsZero() {
		request.DeadlineUnixMillis = o.Deadline.UnixMilli()
	}
	if o.Seal != nil {
		request.Share, request.QuietSeconds = o.Seal.Share, uint32(max(o.Seal.QuietSeconds, 0))
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.changed(ctx, "extend", ref, func() (*pb.Summary, error) { return c.admin.AmendStudy(ctx, request) })
}
