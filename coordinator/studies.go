package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/coordinator/watch"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
	"caucus/study/life"
)

// List first checks the caller's newest signed document for a proof that this coordinator was
// restored (witnesses). It then lists the studies that the caller may see, newest first.
func (s *Server) List(ctx context.Context, r *pb.ListRequest) (*pb.ListReply, error) {
	caller, witness := members.CallerOf(ctx), s.scheduler.releaser.witness
	if err := witness.checkShown(ctx, caller, protocol.ShownHeadFromProto(r.Shown), r.Holds,
		true); err != nil {
		return nil, records.WithAdvice(err)
	}
	s.presence.RecordCall(caller, r, s.config.Clock.Now())
	reply := &pb.ListReply{UnixMillis: s.config.Clock.Now().UnixMilli()}
	_, reply.Addresses, reply.Replicas = s.addresses.current()
	if head := witness.current(); head != nil {
		reply.Head = &pb.Signed{Document: head.Document, Signature: head.Signature}
	}
	if len(r.Signer) == len(protocol.SignerKey{}) {
		reply.Successions = protocol.SignedToProto(s.keys.SuccessionsSince(
			protocol.SignerKey(r.Signer)))
	}
	for _, c := range s.registry.all() {
		summary, err := c.summaryFor(ctx, caller)
		if err != nil {
			return nil, err
		}
		if summary != nil {
			reply.Studies = append(reply.Studies, summary)
		}
	}
	return reply, nil
}

// Show sends one study: its summary, its plan, then the parties.
func (s *Server) Show(r *pb.StudyRequest, stream grpc.ServerStreamingServer[pb.StudyPart]) error {
	ctx := stream.Context()
	caller := members.CallerOf(ctx)
	c, err := s.registry.find(ctx, r.Study, caller)
	if err != nil {
		return err
	}
	first, parties := &pb.StudyPart{}, &pb.StudyPart{}
	var plan records.Study
	err = c.view(ctx, func(m *life.Study) (err error) {
		if first.PoolBytes, err = c.poolSize(ctx); err != nil {
			return err
		}
		plan, first.Summary = c.row, summary(c, m, caller)
		first.Amendments = protocol.SignedToProto(c.amendments)
		if caller.Role == protocol.RoleOperator {
			return s.listParties(ctx, c, m, parties)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Without the acceptance a party charges nothing and asks again (agent.agreement). So nobody
	// begins to spend on a study while the helper is away.
	if s.sharing.waits() == "" {
		if first.Helper, err = c.acceptance(ctx); err != nil {
			return err
		}
	}
	if first.Forecast, err = s.forecast(ctx, c.hash); err != nil {
		return err
	}
	part := first
	for chunk := range protocol.Chunks(plan.Plan, 0) {
		if chunk.Offset == 0 {
			chunk.Signature = plan.Signature
		}
		part.Plan = chunk
		if err := stream.Send(part); err != nil {
			return err
		}
		part = &pb.StudyPart{}
	}
	return sendNames(stream, parties)
}

// forecast is the operator's signed statement of what a study is worth, nil if there is none.
func (s *Server) forecast(ctx context.Context, h study.Hash) (f *pb.Signed, err error) {
	err = s.store.View(ctx, func(tx records.Tx) error {
		said, err := tx.Forecast(h)
		if err == nil {
			f = &pb.Signed{Document: said.Document, Signature: said.Signature}
		}
		if errors.Is(err, records.ErrNoRow) {
			return nil
		}
		return err
	})
	return f, err
}

// listParties lists who contributed to a study and who did not. Only operators get the list, so
// that the reply to a party does not grow with the roster. Call listParties within
// runningStudy.view.
func (s *Server) listParties(ctx context.Context, c *runningStudy, m *life.Study,
	parties *pb.StudyPart) error {
	have, missing := m.Contributors()
	for _, p := range have {
		parties.Contributed = append(parties.Contributed, string(p))
	}
	for _, p := range missing {
		parties.Missing = append(parties.Missing, string(p))
	}
	if m.State == study.Sealed || m.State == study.Summed {
		for _, p := range s.scheduler.releaser.witness.awaited(c.hash, have, missing) {
			parties.Awaited = append(parties.Awaited, string(p))
		}
	}
	return s.store.View(ctx, func(tx records.Tx) error {
		declined, err := tx.Declined(c.hash)
		for _, p := range declined {
			if _, is := slices.BinarySearch(missing, p); is {
				parties.Declined = append(parties.Declined, string(p))
			}
		}
		if err != nil || m.State != study.Open {
			return err
		}
		left, err := watch.LeftOf(tx, parties.Declined, s.config.Clock.Now())
		parties.Statuses = s.presence.Statuses(c.hash, parties.Missing, parties.Declined, left)
		return err
	})
}

// 3,000 names of at most 63 bytes fit in a message.
const namesAtOnce = 3000

func sendNames(stream grpc.ServerStreamingServer[pb.StudyPart], all *pb.StudyPart) error {
	for _, list := range []struct {
		names []string
		part  func([]string) *pb.StudyPart
	}{
		{all.Contributed, func(n []string) *pb.StudyPart { return &pb.StudyPart{Contributed: n} }},
		{all.Missing, func(n []string) *pb.StudyPart { return &pb.StudyPart{Missing: n} }},
		{all.Declined, func(n []string) *pb.StudyPart { return &pb.StudyPart{Declined: n} }},
		{all.Awaited, func(n []string) *pb.StudyPart { return &pb.StudyPart{Awaited: n} }},
	} {
		for names := range slices.Chunk(list.names, namesAtOnce) {
			if err := stream.Send(list.part(names)); err != nil {
				return err
			}
		}
	}
	for some := range slices.Chunk(all.Statuses, namesAtOnce) {
		if err := stream.Send(&pb.StudyPart{Statuses: some}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) summarize(ctx context.Context, c *runningStudy) (reply *pb.Summary, err error) {
	err = c.view(ctx, func(m *life.Study) error {
		reply = summary(c, m, members.CallerOf(ctx))
		return nil
	})
	return reply, err
}

// DownloadPool streams a pool from an offset, reading it from the store in parts.
func (s *Server) DownloadPool(r *pb.DownloadRequest,
	stream grpc.ServerStreamingServer[pb.Chunk]) error {
	ctx := stream.Context()
	c, err := s.registry.find(ctx, r.Study, members.CallerOf(ctx))
	if err != nil {
		return err
	}
	var plan study.Plan
	if err := c.view(ctx, func(m *life.Study) error { plan = m.Plan; return nil }); err != nil {
		return err
	}
	var size uint64
	for offset, first := r.Offset, true; first || offset < size; first = false {
		var part []byte
		err := s.store.View(ctx, func(tx records.Tx) (err error) {
			if size, err = tx.PoolSize(plan.Pool); err != nil || offset >= size {
				return err
			}
			part, err = tx.Pool(plan.Pool, offset, protocol.ChunkSize)
			return err
		})
		if err != nil {
			return err
		}
		if offset > size {
			return fmt.Errorf("%w: offset %d is beyond the pool's %d bytes", protocol.ErrDamaged,
				offset, size)
		}
		if len(part) == 0 && offset < size {
			return fmt.Errorf("read pool: a part at byte %d is not stored", offset)
		}
		for chunk := range protocol.Chunks(part, 0) {
			chunk.Offset, chunk.Size = offset, 0
			if first {
				chunk.Size = size
			}
			if err := stream.Send(chunk); err != nil {
				return err
			}
		}
		offset += uint64(len(part))
	}
	return nil
}

// Contribute takes a party's contribution. runningStudy.contribute says what is stored when.
func (s *Server) Contribute(stream grpc.ClientStreamingServer[pb.ContributeRequest,
	pb.Signed]) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return members.HeaderError(err)
	}
	h := first.GetHeader()
	if h == nil || len(h.PlanHash) != len(study.Hash{}) || len(h.Sha256) != sha256.Size {
		return fmt.Errorf("%w: a contribution starts with a header", protocol.ErrInvalid)
	}
	digest := study.BodyDigest(h.Sha256)
	c := s.registry.byHash(study.Hash(h.PlanHash))
	if c == nil {
		return fmt.Errorf("contribute to study: %w: no study has plan %x", study.ErrDifferentPlan,
			h.PlanHash)
	}
	receipt, err := s.offer(ctx, c, members.CallerOf(ctx), digest, h.Size,
		func() (body []byte, done func(), err error) {
			if done, err = s.upload(ctx); err != nil {
				return nil, nil, err
			}
			body, err = members.Receive(ctx, stream.Recv, h.Size, s.config.Limits, s.config.Clock)
			return body, done, err
		})
	if err != nil {
		return err
	}
	if err := stream.SendAndClose(&pb.Signed{Document: receipt.Document,
		Signature: receipt.Signature}); err != nil {
		return err
	}
	s.config.Checkpoint("after receipt sent")
	return nil
}

// Decline records that a party takes no part.
func (s *Server) Decline(ctx context.Context, r *pb.DeclineRequest) (*pb.DeclineReply, error) {
	caller := members.CallerOf(ctx)
	if len(r.PlanHash) != len(study.Hash{}) {
		return nil, fmt.Errorf("%w: a study is declined by its plan's hash", protocol.ErrInvalid)
	}
	c := s.registry.byHash(study.Hash(r.PlanHash))
	if c == nil {
		return nil, fmt.Errorf("decline study: %w: no study has plan %x", study.ErrDifferentPlan,
			r.PlanHash)
	}
	return &pb.DeclineReply{}, s.decline(ctx, c, caller)
}

func (s *Server) decline(ctx context.Context, c *runningStudy, caller protocol.Caller) error {
	err := c.view(ctx, func(m *life.Study) error {
		switch {
		case !c.roster[study.PartyID(caller.Name)]:
			return fmt.Errorf("decline study: %w: %s", study.ErrNotEnrolled, caller.Name)
		case m.State != study.Open:
			return fmt.Errorf("decline study: %w: it is %s", study.ErrNotOpen, m.State)
		}
		return nil
	})
	first := false
	if err == nil {
		err = s.store.Update(ctx, func(tx records.Tx) (err error) {
			if err := s.certificates.CheckInTransaction(tx, caller); err != nil {
				return err
			}
			first, err = tx.Decline(c.hash, study.PartyID(caller.Name))
			return err
		})
	}
	if err != nil || !first {
		return err
	}
	s.config.Log.Info("study declined", "study", c.hash, "party", caller.Name)
	return nil
}

// offer takes a contribution, from a call or from a carried answer. It checks and stores the body;
// where the header decides alone, it does not receive the body. body returns the bytes, and done
// frees their place in memory.
func (s *Server) offer(ctx context.Context, c *runningStudy, caller protocol.Caller,
	digest study.BodyDigest, size uint64, body func() (data []byte, done func(),
		err error)) (protocol.Receipt, error) {
	fail := func(err error) (protocol.Receipt, error) { return protocol.Receipt{}, err }
	party := study.PartyID(caller.Name)
	receipt, answered, err := c.known(ctx, party, digest, s.config.Clock.Now())
	if err != nil {
		s.scheduler.nudge() // the contribution may have come after the deadline
		return fail(err)
	}
	if answered {
		return receipt, nil
	}
	done, err := c.uploading(party)
	if err != nil {
		return fail(err)
	}
	defer done()
	checker, err := c.studyChecker(ctx)
	if err != nil {
		return fail(err)
	}
	if most := min(checker.maxBody, s.config.Limits.Body); size > uint64(most) {
		return fail(fmt.Errorf("%w: the contribution has %d bytes, this study takes at most %d", protocol.ErrTooLarge, size, most))
	}
	data, release, err := body()
	if release != nil {
		defer release()
	}
	if err != nil {
		return fail(err)
	}
	if sha256.Sum256(data) != digest {
		return fail(fmt.Errorf("%w: the contribution is not what its header announced", protocol.ErrDamaged))
	}
	if checker.shared {
		err = c.checkUpload(ctx, checker.task, data)
	} else {
		err = checker.check(data)
	}
	if err != nil {
		return fail(err)
	}
	now := s.config.Clock.Now()
	receipt, err = protocol.Receipt{Plan: c.hash, Party: party, Body: digest, Size: len(data),
		Received: now.UTC(), Ledger: s.scheduler.releaser.head.Current()}.Sign(s.signer)
	if err != nil {
		return fail(err)
	}
	arrived := s.config.Clock.Elapsed()
	stored, err := c.contribute(ctx, caller, receipt, data, now)
	s.scheduler.nudge()
	if err != nil {
		return fail(err)
	}
	watch.ObserveSeconds(s.counts.CommitSeconds, arrived, s.config.Clock.Elapsed())
	s.counts.Contributions.Inc()
	s.counts.ContributionBytes.Add(float64(len(data)))
	s.config.Log.Info("contribution stored", "study", c.hash, "party", party, "bytes", len(data))
	return stored, nil
}

// upload waits for one of the places for a body in memory.
func (s *Server) upload(ctx context.Context) (release func(), err error) {
	done, err := s.gate.AcquireUpload(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case s.uploads <- struct{}{}:
		return func() { <-s.uploads; done() }, nil
	case <-ctx.Done():
		done()
		return nil, context.Cause(ctx)
	}
}

// DownloadRelease streams the release to the plan's readers.
func (s *Server) DownloadRelease(r *pb.DownloadRequest,
	stream grpc.ServerStreamingServer[pb.Chunk]) error {
	ctx := stream.Context()
	caller := members.CallerOf(ctx)
	c, err := s.registry.find(ctx, r.Study, caller)
	if err != nil {
		return err
	}
	err = c.view(ctx, func(m *life.Study) error {
		if readers := m.Plan.Readers; len(readers) > 0 && !slices.Contains(readers, caller.Name) {
			return fmt.Errorf("%w: the plan names who reads the release, and not %s", protocol.ErrDenied, caller.Name)
		}
		if m.State == study.Failed {
			return fmt.Errorf("%w: the study has no release: it failed", protocol.ErrNotFound)
		}
		if m.State != study.Released {
			return fmt.Errorf("%w: the study has no release yet: it is %s; caucus study wait waits for it", protocol.ErrNotFound, m.State)
		}
		return nil
	})
	if err != nil && !(errors.Is(err, errUnreadable) && caller.Role == protocol.RoleOperator) {
		return err
	}
	var row records.Release
	err = s.store.View(ctx, func(tx records.Tx) (err error) {
		row, err = tx.Release(c.hash)
		return err
	})
	if err != nil {
		return err
	}
	if r.Offset > uint64(len(row.Document)) {
		return fmt.Errorf("%w: offset %d is beyond the release's %d bytes", protocol.ErrDamaged,
			r.Offset, len(row.Document))
	}
	for chunk := range protocol.Chunks(row.Document, r.Offset) {
		if chunk.Offset == r.Offset {
			chunk.Signature = row.Signature
		}
		if err := stream.Send(chunk); err != nil {
			return err
		}
	}
	return nil
}
