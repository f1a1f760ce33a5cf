package protocol

import (
	"context"
	"fmt"
	"time"

	"caucus/protocol/pb"
	"caucus/study"
)

// ParseAmendments reads the amendments of a plan: each signed by the coordinator, the
// next of the one before, and within what the plan allows. Errors wrap ErrDamaged or
// study.ErrAmendment.
func ParseAmendments(p study.Plan, h study.Hash, all []study.Signed, key Verifier) (*study.Chain, error) {
	if len(all) > study.MaxAmendments {
		return nil, fmt.Errorf("%w: %d amendments of one plan", ErrDamaged, len(all))
	}
	chain := study.NewChain(p, h)
	for _, a := range all {
		if err := key.Verify(AmendmentDocument, a.Document, a.Signature); err != nil {
			return nil, err
		}
		if _, err := chain.Add(a.Document); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

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
