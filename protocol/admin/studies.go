package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// CreateStudy stores a plan, in canonical bytes, as a draft at the coordinator, which must have the
// pool already. forecast is the operator's signed forecast, or nil. A repeated call changes
// nothing, and a draft keeps its forecast.
func (c *Client) CreateStudy(ctx context.Context, plan, forecast []byte) (protocol.Study, error) {
	p, hash, err := protocol.ParsePlan(plan)
	if err != nil {
		return protocol.Study{}, fmt.Errorf("create study: %w", err)
	}
	header := &pb.PlanHeader{Hash: hash[:], Size: uint64(len(plan)), Forecast: forecast}
	s, err := changed(ctx, c, "create", p.Name, func(ctx context.Context, header *pb.PlanHeader,
		_ ...grpc.CallOption) (*pb.Summary, error) {
		stream, err := c.calls.CreateStudy(ctx)
		if err != nil {
			return nil, err
		}
		err = stream.Send(&pb.CreateStudyRequest{
			Part: &pb.CreateStudyRequest_Header{Header: header}})
		for chunk := range protocol.Chunks(plan, 0) {
			if err != nil {
				break // io.EOF: the server has answered already
			}
			err = stream.Send(&pb.CreateStudyRequest{
				Part: &pb.CreateStudyRequest_Chunk{Chunk: chunk}})
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return stream.CloseAndRecv()
	}, header)
	if err == nil && s.Hash != hash {
		return protocol.Study{}, fmt.Errorf("create study %s: %w: the coordinator stored another plan", p.Name, protocol.ErrDamaged)
	}
	return s, err
}

// Open lets a study's parties contribute. The plan is fixed from then on.
func (c *Client) Open(ctx context.Context, ref string) (protocol.Study, error) {
	return changed(ctx, c, "open", ref, c.calls.OpenStudy, &pb.StudyRequest{Study: ref})
}

// CancelStudy fails an unreleased study for a public reason.
func (c *Client) CancelStudy(ctx context.Context, ref, reason string) (protocol.Study, error) {
	return changed(ctx, c, "cancel", ref, c.calls.CancelStudy,
		&pb.CancelRequest{Study: ref, Reason: reason})
}

// WaiveAwaited lets a study be released without waiting for the parties that Study.Awaited lists.
func (c *Client) WaiveAwaited(ctx context.Context, ref string) (protocol.Study, error) {
	return changed(ctx, c, "waive the witnesses of", ref, c.calls.Waive,
		&pb.StudyRequest{Study: ref})
}

// CloseStudy seals an open study at once. Below its minimum the error is study.ErrTooFew.
func (c *Client) CloseStudy(ctx context.Context, ref string) (protocol.Study, error) {
	return changed(ctx, c, "close", ref, c.calls.CloseStudy, &pb.StudyRequest{Study: ref})
}

// AmendOptions change a study's ending. Zero fields change nothing.
type AmendOptions struct {
	Deadline time.Time
	Minimum  int
	// Seal is the rule for sealing before the deadline. SealWhenAll drops the rule.
	Seal        *study.SealRule
	SealWhenAll bool
}

// AmendStudy changes the ending of an open study, or resumes a failed study.
func (c *Client) AmendStudy(ctx context.Context, ref string, o AmendOptions) (protocol.Study,
	error) {
	request := &pb.AmendRequest{Study: ref, Minimum: uint32(max(o.Minimum, 0)),
		SealWhenAll: o.SealWhenAll}
	if !o.Deadline.IsZero() {
		request.DeadlineUnixMillis = o.Deadline.UnixMilli()
	}
	if o.Seal != nil {
		request.Share, request.QuietSeconds = o.Seal.Share, uint32(max(o.Seal.QuietSeconds, 0))
	}
	return changed(ctx, c, "extend", ref, c.calls.AmendStudy, request)
}

// changed makes a call that changes a study, and returns the study after the change.
func changed[Q any](ctx context.Context, c *Client, verb, ref string,
	call protocol.Unary[Q, pb.Summary], request *Q) (protocol.Study, error) {
	reply, err := protocol.Ask(ctx, c.Client, verb+" study "+ref, call, request)
	if err != nil {
		return protocol.Study{}, err
	}
	if len(reply.PlanHash) != len(study.Hash{}) {
		err = fmt.Errorf("%w: the reply names no study", protocol.ErrDamaged)
	}
	var s protocol.Study
	if err == nil {
		s, err = c.Study(ctx, study.Hash(reply.PlanHash).String())
	}
	if err != nil {
		return protocol.Study{}, fmt.Errorf("%s study %s: %w", verb, ref, err)
	}
	return s, nil
}
