package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// PackStudy makes the file that carries a study to parties of its roster, or to all of them if
// parties is nil. It contains the study's state for each party, plan, amendments, pool, and the
// release if each of the parties may read it.
func (c *Client) PackStudy(ctx context.Context, ref string, parties []study.PartyID) (file []byte,
	s protocol.Study, err error) {
	fail := func(err error) ([]byte, protocol.Study, error) {
		return nil, protocol.Study{}, fmt.Errorf("pack study %s: %w", ref, err)
	}
	ctx, cancel := c.Transferring(ctx)
	defer cancel()
	if s, err = c.Study(ctx, ref); err != nil {
		return fail(err)
	}
	if parties == nil {
		parties = s.Plan.Roster
	}
	if len(parties) > protocol.MaxCarriedNotices {
		return fail(fmt.Errorf("%w: it has %d parties: name those that the file is for", protocol.ErrTooLarge, len(parties)))
	}
	var p protocol.PackParts
	if p.Notices, p.SealKey, err = c.notices(ctx, s.Hash.String(), parties); err != nil {
		return fail(err)
	}
	// Read the study again, because the notices may already count newer amendments.
	if s, err = c.Study(ctx, s.Hash.String()); err != nil {
		return fail(err)
	}
	if p.Pool, err = c.Pool(ctx, s, ""); err != nil {
		return fail(err)
	}
	readable := len(s.Plan.Readers) == 0 ||
		!slices.ContainsFunc(parties, func(p study.PartyID) bool {
			return !slices.Contains(s.Plan.Readers, string(p))
		})
	if s.State == study.Released && readable {
		r, err := c.Release(ctx, s.Hash.String())
		// with ErrDenied this operator may not read the release
		if err != nil && !errors.Is(err, protocol.ErrDenied) {
			return fail(err)
		}
		p.Release = protocol.Signed{Document: r.Document, Signature: r.Signature}
	}
	file, err = protocol.WritePack(s, c.Keys(), p)
	return file, s, err
}

// AcceptedAnswer is the coordinator's reply to a carried answer.
type AcceptedAnswer struct {
	Party    study.PartyID `json:"party"`
	Study    study.Hash    `json:"plan"`
	Name     string        `json:"study"`
	Declined bool          `json:"declined"`
	// File is for the party. It contains the study's state, and the receipt.
	File []byte `json:"-"`
}

// AcceptAnswer submits an answer file, which counts like the party's own call. It may be repeated.
func (c *Client) AcceptAnswer(ctx context.Context, answer []byte) (AcceptedAnswer, error) {
	fail := func(err error) (AcceptedAnswer, error) {
		return AcceptedAnswer{}, fmt.Errorf("accept answer: %w", err)
	}
	ctx, cancel := c.Transferring(ctx)
	defer cancel()
	stream, err := c.calls.AcceptAnswer(ctx)
	if err != nil {
		return fail(protocol.FromStatus(err))
	}
	header := &pb.AnswerHeader{Size: uint64(len(answer))}
	err = stream.Send(&pb.AcceptAnswerRequest{
		Part: &pb.AcceptAnswerRequest_Header{Header: header}})
	for chunk := range protocol.Chunks(answer, 0) {
		if err != nil {
			break // io.EOF: the server has answered already
		}
		err = stream.Send(&pb.AcceptAnswerRequest{
			Part: &pb.AcceptAnswerRequest_Chunk{Chunk: chunk}})
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		return fail(protocol.FromStatus(err))
	}
	if len(reply.PlanHash) != len(study.Hash{}) || reply.Notice == nil {
		return fail(fmt.Errorf("%w: the reply names no study", protocol.ErrDamaged))
	}
	a := AcceptedAnswer{Party: study.PartyID(reply.Party), Study: study.Hash(reply.PlanHash),
		Declined: reply.Declined}
	s, err := c.Study(ctx, a.Study.String())
	if err != nil {
		return fail(err)
	}
	a.Name = s.Name
	a.File, err = protocol.WritePack(s, c.Keys(),
		protocol.PackParts{Notices: []*pb.Notice{reply.Notice}})
	if err != nil {
		return fail(err)
	}
	return a, nil
}

// noticesAtOnce bounds the notices of a call, about 700 bytes each.
const noticesAtOnce = 300

// notices fetches a study's notices for parties, in order, and the public key to which their
// answers are encrypted.
func (c *Client) notices(ctx context.Context, ref string,
	parties []study.PartyID) (all []*pb.Notice, key []byte, err error) {
	for some := range slices.Chunk(parties, noticesAtOnce) {
		r := &pb.NoticesRequest{Study: ref}
		for _, p := range some {
			r.Parties = append(r.Parties, string(p))
		}
		reply, err := c.calls.Notices(ctx, r)
		if err != nil {
			return nil, nil, protocol.FromStatus(err)
		}
		if all != nil && !bytes.Equal(key, reply.SealKey) {
			return nil, nil, fmt.Errorf("%w: the study changed meanwhile", protocol.ErrBusy)
		}
		all, key = append(all, reply.Notices...), reply.SealKey
	}
	return all, key, nil
}
