package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	aggregators "caucus/aggregator"
	"caucus/aggregator/uploading"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
	"caucus/study/life"
)

// Studies with noise by aggregators have two servers, one in this coordinator's folder, and the
// helper. Parties, receipts, deadlines and amendments work as in any study. Contributions are
// stored as they came until the study seals, and then given to both servers. Contributions that
// both servers refuse leave the study.

// sharing is this coordinator's own aggregator, with the connection to the helper.
type sharing struct {
	server *aggregators.Server // nil: there is no helper
	helper *aggregators.RemoteHelper
	keys   [2]protocol.SignerKey
}

func (s *sharing) helped() bool { return s.server != nil }

// silent returns since when the helper has not answered, zero if it answers or there is none.
func (s *sharing) silent() time.Time {
	if !s.helped() {
		return time.Time{}
	}
	since, busy := s.helper.SilentSince()
	if busy {
		return time.Time{}
	}
	return since
}

// works says since when a call waits for the helper that is busy, "" if none does.
func (s *sharing) works() string {
	if !s.helped() {
		return ""
	}
	since, busy := s.helper.SilentSince()
	if !busy || since.IsZero() {
		return ""
	}
	return "waits for the helper, which is at work since " + since.UTC().Format(time.RFC3339)
}

// waits says for whom studies with two servers wait, "" if for nobody.
func (s *sharing) waits() string {
	if !s.helped() {
		return "waits for the helper, which " + folder.ConfigFile + " does not name any more: name it again (caucus helper keys), or cancel the study"
	}
	if since := s.silent(); !since.IsZero() {
		return "waits for the helper, which has not answered since " + since.UTC().Format(time.RFC3339)
	}
	return ""
}

// isShared reports whether a study has two servers, and returns its signed plan.
func (rs *runningStudy) isShared(ctx context.Context) (canonical []byte, plan study.Plan, is bool,
	err error) {
	err = rs.view(ctx, func(m *life.Study) error {
		canonical, plan, is = rs.row.Plan, m.Plan, m.Plan.Noise.Shared()
		return nil
	})
	if err == nil && is && !rs.sharing.helped() {
		err = fmt.Errorf("%w: this coordinator has no helper any more: name it in %s again", protocol.ErrHelper, folder.ConfigFile)
	}
	return canonical, plan, is, err
}

// agree obtains the helper's agreement before a draft with two servers opens. Without the agreement
// the study stays a draft.
func (rs *runningStudy) agree(ctx context.Context) error {
	_, _, is, err := rs.isShared(ctx)
	if err != nil || !is {
		return err
	}
	if !rs.advancing.TryLock() {
		return fmt.Errorf("%w: it is being opened right now", protocol.ErrBusy)
	}
	defer rs.advancing.Unlock()
	ctx, stop := rs.interruptible(ctx)
	defer stop()
	rs.mu.Lock()
	rs.trouble = "waits for the helper, which is asked to agree since " + rs.watch.clock.Now().UTC().Format(time.RFC3339)
	rs.mu.Unlock()
	if err = rs.bring(ctx); err == nil {
		err = rs.withPlan(ctx, func() error {
			ctx, stop := context.WithTimeout(ctx, confirmTime)
			defer stop()
			_, err := rs.sharing.server.OpenStudy(ctx, rs.hash, rs.sharing.helper)
			return err
		})
	}
	if err == nil { // check that the helper still holds the acceptance that it returned
		var over string
		if over, err = rs.confirm(ctx); over != "" {
			err = fmt.Errorf("%w: %s", study.ErrNotOpen, over)
		}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.trouble = ""; err != nil {
		err = fmt.Errorf("%w; once that is mended, type caucus study open again", wireError(err))
		at := rs.watch.clock.Now().UTC().Format(time.RFC3339)
		rs.trouble = fmt.Sprintf("not opened at %s: %v", at, err)
		err = fmt.Errorf("it stays a draft: %w", err)
	}
	return err
}

// wireError gives an aggregator's error its code for the wire.
func wireError(err error) error {
	for _, e := range []error{aggregators.ErrConflict, aggregators.ErrBehind,
		aggregators.ErrStepOrder,
		aggregators.ErrFailed} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", study.ErrNotOpen, err)
		}
	}
	return err
}

// setTrouble stores why a study waits for its helper, for the study's summary.
func (rs *runningStudy) setTrouble(err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.trouble = ""; errors.Is(err, protocol.ErrHelper) || errors.Is(err, protocol.ErrDenied) ||
		errors.Is(err, aggregators.ErrBehind) {
		why := err.Error()
		if _, cause, found := strings.Cut(why, protocol.ErrHelper.Error()+": "); found {
			why = cause
		}
		rs.trouble = "waits for the helper: " + why
	}
}

// acceptance is the helper's signed acceptance of an opened study with two servers, nil for other
// studies.
func (rs *runningStudy) acceptance(ctx context.Context) (*pb.Signed, error) {
	is, over := false, rs.over.Load()
	err := rs.view(ctx, func(m *life.Study) error { is = m.Plan.Noise.Shared(); return nil })
	if err != nil || !is || over || !rs.sharing.helped() {
		return nil, err
	}
	at, err := rs.sharing.server.Progress(ctx, rs.hash)
	if errors.Is(err, aggregators.ErrBehind) || at.Acceptance.Document == nil || at.Failed != "" {
		return nil, nil
	}
	return &pb.Signed{Document: at.Acceptance.Document, Signature: at.Acceptance.Signature}, err
}

// checkUpload checks that a body is an upload for both servers, made under the study's acceptance
// by the helper.
func (rs *runningStudy) checkUpload(ctx context.Context, t study.Task, body []byte) error {
	agreed, err := rs.acceptance(ctx)
	if err == nil && agreed == nil {
		err = fmt.Errorf("%w: this coordinator has no acceptance of the helper's just now", protocol.ErrUnavailable)
	}
	if err != nil {
		return err
	}
	return uploading.CheckUpload(t,
		aggregators.Signed{Document: agreed.Document, Signature: agreed.Signature}, body)
}

// temporary marks an error as temporary (ErrHelper), unless it is marked or is one of the errors
// that end the study.
func temporary(err error) error {
	for _, last := range []error{protocol.ErrHelper, aggregators.ErrFailed, aggregators.ErrConflict,
		aggregators.ErrStepOrder, study.ErrTooFew, study.ErrContribution, privacy.ErrBudget,
		privacy.ErrConflict, protocol.ErrDenied} {
		if err == nil || errors.Is(err, last) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", protocol.ErrHelper, err)
}

// sharesReason is the public reason why two servers cannot release; "" for other failures.
func sharesReason(err error) string {
	var ended endedError
	switch {
	case errors.As(err, &ended):
		return ended.reason
	case errors.Is(err, aggregators.ErrFailed):
		return "one of the two servers ended the study without a release, because it was put back to an older state or because the two disagree: its log says which; nothing was published"
	case errors.Is(err, aggregators.ErrConflict), errors.Is(err, aggregators.ErrStepOrder):
		return "the two servers do not agree about this study: one of them was put back to an older state, or does not follow the protocol; nothing was published"
	}
	return ""
}

// foldShares gives each contribution once to this coordinator's aggregator, checks them together
// with the helper, and seals the study without those that both refuse. After a kill the next call
// repeats this with the same result.
func (rs *runningStudy) foldShares(ctx context.Context, s *life.Study) error {
	if _, _, _, err := rs.isShared(ctx); err != nil {
		return err
	}
	// servers that forgot the study get no contributions
	if over, err := rs.confirm(ctx); err == nil && over != "" {
		return endedError{over}
	}
	if err := rs.giveToServers(ctx); err != nil {
		return err
	}
	server := rs.sharing.server
	if _, err := rs.advanceShares(ctx); err != nil {
		return temporary(err)
	}
	m, err := server.Contributors(ctx, rs.hash)
	if err != nil {
		return temporary(err)
	}
	if len(m.Refused) > 0 {
		if len(m.Accepted) < s.Ending().Minimum { // the step below fails the study
			if err := rs.forgetShares(ctx, study.ErrTooFew.Error(), false); err != nil {
				return err
			}
		}
		if _, err := rs.step(ctx, life.ProofsRefuted{Parties: m.Refused}, nil); err != nil ||
			s.State != study.Sealed {
			return err
		}
	}
	if received := slices.Sorted(maps.Keys(s.Received)); len(m.Waiting) > 0 ||
		!slices.Equal(received, m.Accepted) {
		return fmt.Errorf("%w: %d contributions were received, both servers hold %d", aggregators.ErrConflict, len(received), len(m.Accepted))
	}
	_, err = rs.step(ctx, life.SumDone{Contributions: len(m.Accepted)}, nil)
	return err
}

func (rs *runningStudy) advanceShares(ctx context.Context) (released bool, err error) {
	err = rs.withPlan(ctx, func() error {
		released, err = rs.sharing.server.Advance(ctx, rs.hash, rs.sharing.helper)
		return err
	})
	return released, err
}

// handed is stored in place of a study's sum once both servers have the contributions, and so form
// the sum.
const handed = "given to the two servers"

// giveToServers gives contributions to this coordinator's aggregator, one transaction for each
// batch, before they are deleted from the store. After a kill a batch may be given twice; the
// aggregator stores it once.
func (rs *runningStudy) giveToServers(ctx context.Context) error {
	for more := true; more; {
		var batch []records.Contribution
		var n int
		err := rs.store.View(ctx, func(tx records.Tx) (err error) {
			if _, n, err = tx.Sum(rs.hash); err == nil {
				batch, err = tx.UnsummedContributions(rs.hash, "", rs.batch)
			}
			return err
		})
		if more = len(batch) > 0; err != nil || !more {
			return err
		}
		all := make([]aggregators.Upload, len(batch))
		for i, b := range batch {
			if sha256.Sum256(b.Body) != b.Digest {
				return fmt.Errorf("%w: that of %s", errDamagedBody, b.Party)
			}
			all[i] = aggregators.Upload{Party: b.Party, Data: b.Body}
		}
		if err := rs.sharing.server.ReceiveAll(ctx, rs.hash, all); err != nil {
			return temporary(err)
		}
		err = rs.store.Update(context.WithoutCancel(ctx), func(tx records.Tx) error {
			rs.point("before batch folded")
			return tx.SetSum(rs.hash, []byte(handed), n+len(batch), batch)
		})
		if err != nil {
			return err
		}
		rs.point("after batch folded")
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// concludeShares has both servers release the sum over the set of contributions that both signed.
func (rs *runningStudy) concludeShares(ctx context.Context, s *life.Study, t study.Finisher,
	ledger *privacy.Ledger) (study.Release, error) {
	fail := func(err error) (study.Release, error) {
		if err = temporary(err); err != nil && permanent(err) {
			if over, failed := rs.confirm(ctx); failed == nil && over != "" {
				err = endedError{over}
			}
		}
		return study.Release{}, err
	}
	if _, _, _, err := rs.isShared(ctx); err != nil {
		return fail(err)
	}
	server := rs.sharing.server
	if err := server.CloseStudy(ctx, rs.hash, s.Chain.Documents()); err != nil {
		return fail(err)
	}
	if released, err := rs.advanceShares(ctx); err != nil || !released {
		return fail(err)
	}
	o, err := server.Released(ctx, rs.hash)
	if err != nil {
		return fail(err)
	}
	return life.ConcludeShares(ctx, s, t, o.Contributions, o.Published[:],
		o.Document(rs.sharing.keys), ledger)
}

// forgetShares ends a failing study at this coordinator's aggregator and deletes its contributions
// there. The helper is told of the end. If the aggregator has no contributions and the end is not
// for good, it keeps the study, which may then be resumed.
func (rs *runningStudy) forgetShares(ctx context.Context, reason string, good bool) error {
	_, _, is, err := rs.isShared(ctx)
	if err != nil || !is {
		return ignoreHelper(err)
	}
	m, err := rs.sharing.server.Contributors(ctx, rs.hash)
	if err != nil || !good && len(m.Accepted)+len(m.Refused)+len(m.Waiting) == 0 {
		return ignoreHelper(err)
	}
	err = rs.sharing.server.Cancel(ctx, rs.hash, reason)
	if errors.Is(err, aggregators.ErrFailed) {
		return nil
	}
	return ignoreHelper(err)
}

// charged says who was charged for a study with two servers that ends without a release. drawn:
// this server was.
func charged(m *life.Study, drawn bool) string {
	if len(m.Received) == 0 {
		return ""
	}
	words := fmt.Sprintf("; nothing is released; charged with ε = %g, δ = %g at unit %s: the %d sites that contributed",
		m.Plan.Epsilon, m.Plan.Delta, m.Plan.Unit, len(m.Received))
	if drawn {
		words += ", this coordinator, and the helper if it had drawn its half"
	}
	return words
}

// ignoreHelper returns nil for errors of a helper out of reach, because a study may fail without
// the helper.
func ignoreHelper(err error) error {
	if errors.Is(err, protocol.ErrHelper) || errors.Is(err, aggregators.ErrBehind) {
		return nil
	}
	return err
}

// unshared refuses to resume a failed study if the two servers hold contributions of it. Otherwise
// these would be in the new sum, also those of parties that do not contribute again.
func (rs *runningStudy) unshared(ctx context.Context) error {
	_, _, is, err := rs.isShared(ctx)
	if err != nil || !is {
		return err
	}
	at, err := rs.sharing.server.Progress(ctx, rs.hash)
	if err != nil {
		return err
	}
	m, err := rs.sharing.server.Contributors(ctx, rs.hash)
	if err != nil {
		return err
	}
	if at.Closed || len(m.Accepted)+len(m.Refused)+len(m.Waiting) > 0 {
		return fmt.Errorf("amend study: %w: its contributions were given to the two servers before it failed: make a new plan", study.ErrNotOpen)
	}
	if at.Failed == "" && at.Acceptance.Document == nil { // the study never opened
		return nil
	}
	if over, err := rs.confirm(ctx); err == nil && over != "" {
		return fmt.Errorf("amend study: %w: %s", study.ErrNotOpen, over)
	}
	return nil
}
