package protocol

import (
	"context"
	"time"

	"caucus/protocol/pb"
	"caucus/study"
)

// CloseStudy seals an open study at once. Below its minimum the error is study.ErrTooFew.
func (c *Client) CloseStudy(ctx context.Context, ref string) (Study, error) {
	return changed(ctx, c, "close", ref, c.admin.CloseStudy, &pb.StudyRequest{Study: ref})
}

// AmendOptions change a study's ending. Zero fields change nothing.
type AmendOptions struct {
	Deadline time.Time
	Minimum  int
	// Seal is the rule for sealing before the deadline. SealWhenAll drops the rule.
	Seal        *study.SealRule
	SealWhenAll bool
}

// Amend changes the ending of an open study, or resumes a failed study.
func (c *Client) Amend(ctx context.Context, ref string, o AmendOptions) (Study, error) {
	request := &pb.AmendRequest{Study: ref, Minimum: uint32(max(o.Minimum, 0)),
		SealWhenAll: o.SealWhenAll}
	if !o.Deadline.IsZero() {
		request.DeadlineUnixMillis = o.Deadline.UnixMilli()
	}
	if o.Seal != nil {
		request.Share, request.QuietSeconds = o.Seal.Share, uint32(max(o.Seal.QuietSeconds, 0))
	}
	return changed(ctx, c, "extend", ref, c.admin.AmendStudy, request)
}
