package protocol

import (
	"context"
	"fmt"
	"time"

	"caucus/protocol/pb"
	"caucus/study"
)

// ParseAmendments reads a plan's amendments: each signed by the coordinator, based on the one
// before, and allowed by the plan. Errors wrap ErrDamaged or study.ErrAmendment.
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

// CloseStudy seals an open study as it stands; study.ErrTooFew below its minimum.
func (c *Client) CloseStudy(ctx context.Context, ref string) (Study, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.changed(ctx, "close", ref, func() (*pb.Summary, error) {
		return c.admin.CloseStudy(ctx, &pb.StudyRequest{Study: ref})
	})
}

// AmendOptions change a study's end; zero fields stay.
type AmendOptions struct {
	Deadline time.Time
	Minimum  int
	// Seal is the rule for sealing before the deadline; SealWhenAll drops it.
	Seal        *study.SealRule
	SealWhenAll bool
}

// Amend changes the end of an open study, or resumes a failed one.
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
