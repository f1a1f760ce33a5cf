package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	aggregators "caucus/aggregator"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/life"
)

// A study with noise by aggregators has two servers: this coordinator's and the helper. If one of
// them can no longer release the study, the study fails at once and not only when it seals, because
// every further party would be charged for nothing.

const (
	confirmEvery = time.Minute
	confirmTime  = 20 * time.Second
	// a call counts as unanswered after 5 s, so silence is noticed within 10 s
	probeEvery = 4 * time.Second
)

const (
	helperEnded  = "the helper ended this study without a release: its operator said so, or its files were put back; make a new plan"
	helperForgot = "the helper's files were put back, or another helper is in its place: it cannot release this study any more; make a new plan"
	sharesForgot = "this coordinator's files of shares were put back: it cannot release this study any more; make a new plan"
)

// endedError is the public reason why a study with two servers ended.
type endedError struct{ reason string }

func (e endedError) Error() string { return e.reason }

// confirm asks both servers whether they can still release a study. over is the reason why one of
// them cannot, "" if both can. An error means that a server could not be asked, and says nothing
// about the study.
func (rs *runningStudy) confirm(ctx context.Context) (over string, err error) {
	ctx, stop := context.WithTimeout(ctx, confirmTime)
	defer stop()
	at, err := rs.sharing.server.Progress(ctx, rs.hash)
	switch {
	case err != nil:
		return "", err
	case at.Failed != "":
		return at.Failed, nil
	case at.Acceptance.Document == nil:
		return sharesForgot, nil
	}
	err = rs.withPlan(ctx, func() error {
		return rs.sharing.server.ConfirmAcceptance(ctx, rs.hash, rs.sharing.helper)
	})
	switch {
	case errors.Is(err, aggregators.ErrFailed):
		return helperEnded, nil
	case errors.Is(err, aggregators.ErrForgotten), errors.Is(err, protocol.ErrDenied):
		return helperForgot, nil
	case errors.Is(err, aggregators.ErrConflict):
		return sharesReason(err), nil
	}
	return "", err
}

// withPlan calls ask, which asks the helper about the study. If the helper lacks the plan, because
// another plan took its place or its operator removed it, withPlan sends the plan and asks again.
// The helper's policy accepted this plan earlier, so a refusal now means that the helper has no
// room, or forgot its agreement.
func (rs *runningStudy) withPlan(ctx context.Context, ask func() error) error {
	err := ask()
	if !errors.Is(err, protocol.ErrNotFound) {
		return err
	}
	if err := rs.bring(ctx); errors.Is(err, protocol.ErrDenied) {
		return fmt.Errorf("%w: %w", protocol.ErrHelper, err)
	} else if err != nil {
		return err
	}
	return ask()
}

func (rs *runningStudy) bring(ctx context.Context) error {
	canonical, plan, _, err := rs.isShared(ctx)
	if err != nil {
		return err
	}
	pool, err := readPool(ctx, rs.store, plan.Pool)
	if err != nil {
		return err
	}
	return rs.sharing.helper.SendPlan(ctx, rs.hash, canonical, pool)
}

// confirmOpen fails an open study that one of the two servers can no longer release, and returns
// the reason. err says why a server could not be asked.
func (rs *runningStudy) confirmOpen(ctx context.Context) (ended string, err error) {
	open := func() (is bool, err error) {
		err = rs.view(ctx, func(m *life.Study) error {
			is = m.State == study.Open && m.Plan.Noise.Shared()
			return nil
		})
		return is, err
	}
	if is, err := open(); err != nil || !is {
		return "", err
	}
	over, err := rs.confirm(ctx)
	if over == "" {
		if ctx.Err() == nil {
			rs.setTrouble(temporary(err))
		}
		return "", err
	}
	err = rs.cancelUnless(ctx, over, true, func() (string, error) {
		is, err := open()
		if err == nil && !is {
			err = study.ErrNotOpen
		}
		return "", err
	})
	if err != nil {
		return "", fmt.Errorf("end study %s: %s: %w", rs.hash, over, err)
	}
	return over, nil
}
