package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"

	"caucus/auxdata"
	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
	"caucus/study"
	"caucus/study/life"
)

// ListMembers serves operators: every member and open invitation by name, with its last call since
// this process started.
func (s *Server) ListMembers(ctx context.Context, _ *pb.ListMembersRequest) (*pb.ListMembersReply,
	error) {
	var members []admin.Member
	err := s.store.View(ctx, func(tx records.Tx) (err error) {
		members, err = tx.Members(s.config.Clock.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	reply := &pb.ListMembersReply{}
	for _, m := range members {
		seen, runs := s.presence.LastCall(m.Name, s.config.Clock.Now())
		reply.Members = append(reply.Members, &pb.Member{
			SeenUnixMillis: seen, Runs: runs, Tags: m.Tags, Token: m.Token,
			Name: m.Name, Role: string(m.Role), Status: m.Status, ExpiresUnixMillis: m.Expires.UnixMilli(),
		})
	}
	return reply, nil
}

// UploadPool stores a whole pool in one transaction.
func (s *Server) UploadPool(stream grpc.ClientStreamingServer[pb.UploadPoolRequest,
	pb.UploadPoolReply]) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return members.HeaderError(err)
	}
	h := first.GetHeader()
	switch {
	case h == nil || len(h.Digest) != sha256.Size:
		return fmt.Errorf("%w: a pool starts with a header", protocol.ErrInvalid)
	case h.Size > uint64(s.config.Limits.Pool):
		return fmt.Errorf("%w: the pool has %d bytes, at most %d are taken", protocol.ErrTooLarge,
			h.Size, s.config.Limits.Pool)
	}
	digest := auxdata.Digest(h.Digest)
	err = s.store.View(ctx, func(tx records.Tx) error { _, err := tx.PoolSize(digest); return err })
	if err == nil {
		return stream.SendAndClose(&pb.UploadPoolReply{})
	}
	if !errors.Is(err, records.ErrNoRow) {
		return err
	}
	release, err := s.upload(ctx)
	if err != nil {
		return err
	}
	defer release()
	data, err := members.Receive(ctx, stream.Recv, h.Size, s.config.Limits, s.config.Clock)
	if err != nil {
		return err
	}
	if sha256.Sum256(data) != digest {
		return fmt.Errorf("%w: the pool does not have digest %s", protocol.ErrDamaged, digest)
	}
	err = s.store.Update(ctx, func(tx records.Tx) error {
		if _, err := tx.PoolSize(digest); !errors.Is(err, records.ErrNoRow) {
			return err // another call stored it meanwhile
		}
		return tx.AddPool(digest, data)
	})
	if err != nil {
		return err
	}
	s.config.Log.Info("pool stored", "pool", digest, "bytes", len(data))
	return stream.SendAndClose(&pb.UploadPoolReply{})
}

// CreateStudy stores a plan as a draft. It refuses a plan that this coordinator could not open
// later as it is.
func (s *Server) CreateStudy(stream grpc.ClientStreamingServer[pb.CreateStudyRequest,
	pb.Summary]) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return members.HeaderError(err)
	}
	h := first.GetHeader()
	switch {
	case h == nil || len(h.Hash) != len(study.Hash{}):
		return fmt.Errorf("%w: a plan starts with a header", protocol.ErrInvalid)
	case h.Size > protocol.MaxPlanBytes:
		return fmt.Errorf("%w: the plan has %d bytes, at most %d are taken: use a smaller map or roster", protocol.ErrTooLarge, h.Size, protocol.MaxPlanBytes)
	}
	if n := len(h.Forecast); n > protocol.MaxForecastBytes {
		return fmt.Errorf("%w: the forecast has %d bytes, at most %d are taken", protocol.ErrTooLarge, n, protocol.MaxForecastBytes)
	}
	c := s.registry.byHash(study.Hash(h.Hash))
	if c == nil {
		if c, err = s.draft(stream, h); err != nil {
			return err
		}
	}
	reply, err := s.summarize(ctx, c)
	if err != nil {
		return err
	}
	return stream.SendAndClose(reply)
}

// draft receives the plan that h announced and stores it with its forecast.
func (s *Server) draft(stream grpc.ClientStreamingServer[pb.CreateStudyRequest, pb.Summary],
	h *pb.PlanHeader) (*runningStudy, error) {
	ctx := stream.Context()
	release, err := s.upload(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	canonical, err := members.Receive(ctx, stream.Recv, h.Size, s.config.Limits, s.config.Clock)
	if err != nil {
		return nil, err
	}
	plan, hash, err := protocol.ParsePlan(canonical)
	if err != nil {
		return nil, err
	}
	if want := study.Hash(h.Hash); hash != want {
		return nil, fmt.Errorf("%w: the plan does not have hash %s", protocol.ErrDamaged, want)
	}
	if err := s.runnable(ctx, plan); err != nil {
		return nil, err
	}
	if plan.Noise.SumsInClear() && plan.Form < study.FormCommitted {
		return nil, study.PlanError("form", "exact numbers would arrive without a commitment, so what stays on this disk would confirm guesses of them: create the study with this version of caucus")
	}
	row := records.Study{
		Hash: hash, Name: plan.Name, Plan: canonical, Signature: s.signer.Sign(protocol.PlanDocument, canonical),
		Created: s.config.Clock.Now(), State: study.Draft,
	}
	err = s.store.Update(ctx, func(tx records.Tx) error {
		if _, err := tx.Study(hash); !errors.Is(err, records.ErrNoRow) {
			return err // another call stored it meanwhile
		}
		all, err := tx.Studies()
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.Name == plan.Name {
				if err := freeName(tx, other); err != nil {
					return err
				}
			}
		}
		if err := s.knownRoster(tx, plan); err != nil {
			return err
		}
		if err := tx.AddStudy(row); err != nil || len(h.Forecast) == 0 {
			return err
		}
		return tx.AddForecast(hash,
			study.Signed{Document: h.Forecast,
				Signature: s.signer.Sign(protocol.ForecastDocument, h.Forecast)})
	})
	if err != nil {
		return nil, err
	}
	s.config.Log.Info("study created", "study", hash, "by", members.CallerOf(ctx).Name)
	return s.registry.add(row), nil
}

// freeName lets a new plan have the name of a study that failed and got no contribution. Everything
// else, approvals at sites too, goes by hashes.
func freeName(tx records.Tx, of records.Study) error {
	received, _, err := tx.Contributions(of.Hash)
	if err != nil {
		return err
	}
	if of.State == study.Failed && received == 0 {
		return tx.RenameStudy(of.Hash, of.Name+" "+of.Hash.String())
	}
	advice := ""
	if of.State == study.Draft {
		advice = ", or end that draft first: caucus study cancel " + of.Name
	}
	return fmt.Errorf("%w: a study named %q with another plan: give another name%s", protocol.ErrExists, of.Name, advice)
}

// runnable refuses a plan that this coordinator could not carry out.
func (s *Server) runnable(ctx context.Context, plan study.Plan) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", study.ErrPlan, fmt.Sprintf(format, args...))
	}
	if err := protocol.CheckName(plan.Name); err != nil {
		return refuse("%v", err)
	}
	if least := plan.LeastParties(); least < s.config.MinimumParties {
		return refuse("minimum: with %d it could be sealed: this coordinator runs no study with less than %d contributions", least, s.config.MinimumParties)
	}
	if now := s.config.Clock.Now(); !now.Before(plan.Deadline) {
		return refuse("deadline: %s is over by the coordinator's clock (%s)", plan.Deadline.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if plan.Noise.Shared() && !s.sharing.helped() {
		return refuse("noise: this coordinator has no helper, the second server that another organisation runs: caucus helper keys names one; or use %q, or %q where the parties trust the coordinator", study.NoiseSite, study.NoiseCoordinator)
	}
	data, err := readPool(ctx, s.store, plan.Pool)
	if err != nil {
		return err
	}
	checker, err := newStudyChecker(plan, data)
	if errors.Is(err, study.ErrPlan) {
		return err
	}
	if err != nil {
		return refuse("%v", err)
	}
	if checker.maxBody > s.config.Limits.Body {
		return refuse("a contribution may have %d bytes, this coordinator takes at most %d: use a smaller pool (for labels: a smaller max_records), or raise limits: body", checker.maxBody, s.config.Limits.Body)
	}
	charges, err := checker.task.Charges(0)
	if err != nil {
		return refuse("%v", err)
	}
	if plan.Noise.AddedAtSite() || len(s.config.Budget) == 0 {
		return nil
	}
	// Refuse a plan whose cost the ledger cannot pay any more, before parties spend on it. The
	// ledger decides again at the release.
	after, err := s.scheduler.releaser.ledger.Totals(ctx)
	if err != nil {
		return err
	}
	for _, c := range charges {
		after = after.Plus(c.Cost)
	}
	for u, most := range s.config.Budget {
		if !(after[u].Epsilon(most.Delta) <= most.Epsilon) {
			return refuse("the coordinator's ledger has too little left at unit %s for it (budget: epsilon %g, delta %g)", u, most.Epsilon, most.Delta)
		}
	}
	return nil
}

// knownRoster refuses a roster with a name that is neither enrolled nor invited, because nobody
// would notice that this party never comes.
func (s *Server) knownRoster(tx records.Tx, plan study.Plan) error {
	members, err := tx.Members(s.config.Clock.Now())
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range members {
		known[m.Name] = m.Role == protocol.RoleParty &&
			(m.Status == admin.StatusEnrolled || m.Status == admin.StatusInvited)
	}
	var unknown []string
	for _, p := range plan.Roster {
		if !known[string(p)] {
			unknown = append(unknown, string(p))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: roster: neither enrolled nor invited: %s: invite them first", study.ErrPlan, strings.Join(unknown, ", "))
	}
	return nil
}

// OpenStudy opens a draft, from which moment its plan cannot change. With noise by aggregators the
// helper must agree first; after a refusal the study stays a draft. A plan past its deadline is
// study.ErrPlan.
func (s *Server) OpenStudy(ctx context.Context, r *pb.StudyRequest) (*pb.Summary, error) {
	c, err := s.registry.find(ctx, r.Study, members.CallerOf(ctx))
	if err != nil {
		return nil, err
	}
	err = c.view(ctx, func(m *life.Study) error {
		if m.State == study.Draft && !s.config.Clock.Now().Before(m.Plan.Deadline) {
			return fmt.Errorf("%w: deadline: it is over: make a new plan", study.ErrPlan)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := c.agree(ctx); err != nil {
		s.config.Log.Warn("study stays a draft", "study", c.hash, "error", err)
		return nil, err
	}
	if _, err := c.step(ctx, life.StudyOpened{}, nil); err != nil {
		return nil, err
	}
	s.config.Log.Info("study opened", "study", c.hash, "by", members.CallerOf(ctx).Name)
	return s.summarize(ctx, c)
}

const maxReason = 1000

// CancelStudy fails a draft, open or sealed study, and its ballots are deleted. The reason, at most
// 1000 bytes, is shown to all members. A study that is over, or whose noise was drawn, is
// study.ErrNotOpen.
func (s *Server) CancelStudy(ctx context.Context, r *pb.CancelRequest) (*pb.Summary, error) {
	if err := study.CheckText(r.Reason); err != nil {
		return nil, fmt.Errorf("%w: the reason: %w", protocol.ErrInvalid, err)
	}
	if len(r.Reason) > maxReason {
		return nil, fmt.Errorf("%w: the reason has %d bytes, at most %d are taken", protocol.ErrInvalid, len(r.Reason), maxReason)
	}
	c, err := s.registry.find(ctx, r.Study, members.CallerOf(ctx))
	if err != nil {
		return nil, err
	}
	reason := "cancelled"
	if r.Reason != "" {
		reason += ": " + r.Reason
	}
	err = c.view(ctx, func(m *life.Study) error {
		if protocol.IsFinal(m.State) {
			return fmt.Errorf("cancel study: %w: it is %s already", study.ErrNotOpen, m.State)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := c.withdraw(ctx, reason, s.scheduler.releaser.ledger); err != nil {
		return nil, err
	}
	s.scheduler.releaser.witness.forget(c.hash)
	s.config.Log.Info("study cancelled", "study", c.hash, "by", members.CallerOf(ctx).Name)
	return s.summarize(ctx, c)
}

// Waive lets a study be released without the parties that it still awaits (witnesses.awaited).
// After a proof that the ledger was restored from an old backup, Waive does not help.
func (s *Server) Waive(ctx context.Context, r *pb.StudyRequest) (*pb.Summary, error) {
	c, err := s.registry.find(ctx, r.Study, members.CallerOf(ctx))
	if err != nil {
		return nil, err
	}
	var missing []study.PartyID
	witness := s.scheduler.releaser.witness
	err = c.view(ctx, func(m *life.Study) error {
		if m.State != study.Sealed && m.State != study.Summed {
			return fmt.Errorf("%w: there is nobody to waive: the study is %s. Only once it is sealed may its release wait for contributors that have not called since the coordinator started (waits for, in study show)", protocol.ErrInvalid, m.State)
		}
		contributed, others := m.Contributors()
		missing = witness.awaited(c.hash, contributed, others)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		s.config.Log.Warn("released without waiting for these to call since the start, as an operator says", "study", c.hash, "parties", missing, "by", members.CallerOf(ctx).Name)
		witness.waive(c.hash, missing)
		s.scheduler.nudge()
	}
	return s.summarize(ctx, c)
}

// Clock returns the coordinator's time and whether the coordinator trusts its clock. An operator
// may vouch for the clock.
func (s *Server) Clock(ctx context.Context, r *pb.ClockRequest) (*pb.ClockReply, error) {
	if r.Vouch {
		s.registry.watch.vouch()
		s.config.Log.Warn("the clock is believed, as an operator says", "by",
			members.CallerOf(ctx).Name, "time", s.config.Clock.Now().UTC())
		s.scheduler.nudge()
	}
	now, doubt := s.registry.watch.now()
	reply := &pb.ClockReply{UnixMillis: now.UnixMilli()}
	if doubt != nil {
		reply.Doubt = doubt.Error()
	}
	return reply, nil
}
