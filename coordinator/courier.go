package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/life"
)

const mostNotices = 1000

// Notices returns signed notices of a study's state for parties of its roster.
func (s *Server) Notices(ctx context.Context, r *pb.NoticesRequest) (*pb.NoticesReply, error) {
	c, err := s.registry.find(ctx, r.Study, members.CallerOf(ctx))
	if err != nil {
		return nil, err
	}
	if len(r.Parties) > mostNotices {
		return nil, fmt.Errorf("%w: %d parties at once, at most %d", protocol.ErrTooLarge,
			len(r.Parties), mostNotices)
	}
	public, err := s.sealKey(ctx, c)
	if err != nil {
		return nil, err
	}
	reply := &pb.NoticesReply{SealKey: public}
	for _, p := range r.Parties {
		n, err := s.notice(ctx, c, study.PartyID(p), public)
		if err != nil {
			return nil, err
		}
		reply.Notices = append(reply.Notices, n)
	}
	return reply, nil
}

// sealKey is the public key that answers to a study are encrypted to, nil if the study takes none.
// It is made at the first request, and again after the coordinator changed its own keys. The
// private key is deleted with the study's bodies.
func (s *Server) sealKey(ctx context.Context, c *runningStudy) ([]byte, error) {
	var state study.State
	if err := c.view(ctx, func(m *life.Study) error { state = m.State; return nil }); err != nil {
		return nil, err
	}
	if state == study.Draft || protocol.IsFinal(state) {
		return nil, nil
	}
	var private []byte
	err := s.store.Update(ctx, func(tx records.Tx) error {
		row, err := tx.Study(c.hash)
		if err != nil || protocol.IsFinal(row.State) {
			return err // the study ended meanwhile
		}
		stored, signer, err := tx.SealKey(c.hash)
		if err == nil && signer == s.signer.Key() {
			private = stored
			return nil
		}
		if err != nil && !errors.Is(err, records.ErrNoRow) {
			return err
		}
		if private, err = server.NewSealKey(); err != nil {
			return err
		}
		return tx.SetSealKey(c.hash, private, s.signer.Key())
	})
	if err != nil || private == nil {
		return nil, err
	}
	return server.SealKeyOf(private)
}

// notice states a study's state for one party. It includes the receipt if the party's answer came
// as a file.
func (s *Server) notice(ctx context.Context, c *runningStudy, party study.PartyID,
	sealKey []byte) (*pb.Notice, error) {
	head := s.scheduler.releaser.witness.current()
	if head == nil {
		return nil, fmt.Errorf("%w: this coordinator knows that it was put back to an older state, and signs nothing that is carried away: see caucus ledger verify", protocol.ErrUnavailable)
	}
	of, err := head.Head(s.keys)
	if err != nil {
		return nil, err
	}
	n := protocol.Notice{Plan: c.hash, Party: party, Ledger: of, ProcessID: s.run}
	if sealKey != nil {
		n.SealKey = protocol.SealKeyDigest(sealKey)
	}
	err = c.view(ctx, func(m *life.Study) error {
		switch {
		case !c.roster[party]:
			return fmt.Errorf("make notice: %w: %s", study.ErrNotEnrolled, party)
		case m.State == study.Draft:
			return fmt.Errorf("make notice: %w: it is a draft: open it first", study.ErrNotOpen)
		}
		told := summary(c, m, protocol.Caller{Name: string(party), Role: protocol.RoleParty})
		n.At = s.config.Clock.Now().UTC()
		n.State, n.Reason, n.Contributed, n.CallerContributed, n.CallerLost, n.Amendments = m.State,
			m.Reason,
			int(told.Contributed), told.Mine, told.Lost, m.Chain.Len()
		return nil
	})
	if err != nil {
		return nil, err
	}
	signed, err := n.Sign(s.signer)
	if err != nil {
		return nil, err
	}
	reply := &pb.Notice{Signed: &pb.Signed{Document: signed.Document, Signature: signed.Signature}}
	// the coordinator lost the bytes and asks for them again
	if !n.CallerContributed || n.CallerLost {
		return reply, nil
	}
	var receipt protocol.Receipt
	var key []byte
	err = s.store.View(ctx, func(tx records.Tx) error {
		if key, err = tx.ReceiptKey(c.hash, party); err != nil {
			return err
		}
		receipt, err = tx.Receipt(c.hash, party)
		return err
	})
	if errors.Is(err, records.ErrNoRow) || err == nil && receipt.Body == (study.BodyDigest{}) {
		// no answer was carried, or its receipt was deleted (records: forgetDigests)
		return reply, nil
	}
	if err == nil {
		reply.Receipt, err = receipt.Seal(key)
	}
	return reply, err
}

// beside bounds an answer's bytes without its body: certificate, signatures, and the document in
// Opened.Shown.
const beside = 256 << 10

// AcceptAnswer takes an answer that a person carried here as a file. The answer belongs to the
// party that signed it. offer takes its body like any contribution.
func (s *Server) AcceptAnswer(stream grpc.ClientStreamingServer[pb.AcceptAnswerRequest,
	pb.AcceptAnswerReply]) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return members.HeaderError(err)
	}
	h := first.GetHeader()
	switch most := uint64(s.config.Limits.Body) + beside; {
	case h == nil:
		return fmt.Errorf("%w: an answer starts with a header", protocol.ErrInvalid)
	case h.Size > most:
		return fmt.Errorf("%w: the answer has %d bytes, at most %d are taken", protocol.ErrTooLarge, h.Size, most)
	}
	release, err := s.upload(ctx)
	if err != nil {
		return err
	}
	defer release()
	file, err := members.Receive(ctx, stream.Recv, h.Size, s.config.Limits, s.config.Clock)
	if err != nil {
		return err
	}
	answer, err := s.authority.ReadAnswer(file, s.config.Clock.Now())
	if err != nil {
		return err
	}
	if _, _, err := s.certificates.Validity(ctx, answer.Party); err != nil {
		return err
	}
	c := s.registry.byHash(answer.Plan)
	if c == nil {
		return fmt.Errorf("%w: no study has plan %s", study.ErrDifferentPlan, answer.Plan)
	}
	opened, err := s.unseal(ctx, c, answer)
	if err != nil {
		return err
	}
	calls := s.ofThisRun(opened.ShownHead)
	if err := s.scheduler.releaser.witness.checkShown(ctx, answer.Party, opened.ShownHead, nil,
		calls); err != nil {
		return err
	}
	if calls {
		s.presence.RecordCall(answer.Party, &pb.ListRequest{}, s.config.Clock.Now())
	}
	if err := s.accept(ctx, c, answer.Party, opened); err != nil {
		return err
	}
	public, err := s.sealKey(ctx, c)
	if err != nil {
		return err
	}
	party := study.PartyID(answer.Party.Name)
	notice, err := s.notice(ctx, c, party, public)
	if err != nil {
		return err
	}
	s.config.Log.Info("answer accepted", "study", c.hash, "party", party, "by",
		members.CallerOf(ctx).Name)
	if err := stream.SendAndClose(&pb.AcceptAnswerReply{Party: string(party), PlanHash: c.hash[:],
		Notice: notice, Declined: opened.Body == nil}); err != nil {
		return err
	}
	s.config.Checkpoint("after receipt sent")
	return nil
}

// ofThisRun reports whether an answer was written after a notice that this process signed. Only
// then did the party show the newest document that it had. An earlier answer proves less, because
// the coordinator may have been restored from a backup after the answer was written.
func (s *Server) ofThisRun(shown protocol.ShownHead) bool {
	if shown.Kind != protocol.NoticeDocument {
		return false
	}
	n, err := protocol.ParseNotice(protocol.Signed{Document: shown.Document,
		Signature: shown.Signature}, s.keys)
	return err == nil && bytes.Equal(n.ProcessID, s.run)
}

func (s *Server) accept(ctx context.Context, c *runningStudy, caller protocol.Caller,
	o protocol.OpenedAnswer) error {
	if o.Body == nil {
		return s.decline(ctx, c, caller)
	}
	err := c.view(ctx, func(*life.Study) error {
		if !c.roster[study.PartyID(caller.Name)] {
			return fmt.Errorf("%w: %s", study.ErrNotEnrolled, caller.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Store the key before the contribution, so that every contribution has the key that encrypts
	// its receipt.
	err = s.store.Update(ctx, func(tx records.Tx) error {
		if err := s.certificates.CheckInTransaction(tx, caller); err != nil {
			return err
		}
		return tx.SetReceiptKey(c.hash, study.PartyID(caller.Name), o.ReceiptKey)
	})
	if err != nil {
		return err
	}
	s.config.Checkpoint("receipt key stored")
	_, err = s.offer(ctx, c, caller, sha256.Sum256(o.Body), uint64(len(o.Body)),
		func() ([]byte, func(), error) {
			return bytes.Clone(o.Body), nil, nil
		})
	return err
}

func (s *Server) unseal(ctx context.Context, c *runningStudy,
	a protocol.CarriedAnswer) (protocol.OpenedAnswer,
	error) {
	var private []byte
	err := s.store.View(ctx, func(tx records.Tx) (err error) {
		private, _, err = tx.SealKey(c.hash)
		return err
	})
	none := errors.Is(err, records.ErrNoRow)
	if none {
		if err := s.tooLate(ctx, c, study.PartyID(a.Party.Name)); err != nil {
			return protocol.OpenedAnswer{}, err
		}
	} else if err != nil {
		return protocol.OpenedAnswer{}, err
	}
	var public []byte
	if !none {
		if public, err = server.SealKeyOf(private); err != nil {
			return protocol.OpenedAnswer{}, err
		}
	}
	if none || !a.SealedTo(public) {
		return protocol.OpenedAnswer{}, fmt.Errorf("%w: it is sealed to a key that this coordinator no longer has: its keys were changed, or the study was taken up again. Pack the study anew, and have %s write the answer again: it stays the same, and costs nothing more", protocol.ErrExpired, a.Party.Name)
	}
	return a.Open(private)
}

// tooLate returns an error once a study is over; nil if it takes answers.
func (s *Server) tooLate(ctx context.Context, c *runningStudy, party study.PartyID) error {
	return c.view(ctx, func(m *life.Study) error {
		if !protocol.IsFinal(m.State) {
			return nil
		}
		if _, mine := m.Received[party]; mine && m.State != study.Failed {
			return fmt.Errorf("%w: the study is %s, and a contribution of %s is in it already: caucus study pack tells it so", study.ErrNotOpen, m.State, party)
		}
		return fmt.Errorf("%w: it comes too late, the study is %s, and %s is not in it", study.ErrNotOpen, m.State, party)
	})
}
