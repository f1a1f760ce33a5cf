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

// A study of two servers that one of them can no longer release fails at once, not only when it
// seals: until then every party that contributes would be charged for nothing.

const (
	confirmEvery = time.Minute
	confirmTime  = 20 * time.Second
)

const (
	helperForgot = "the helper's files were put back: it cannot release this study any more; make a new plan"
	sharesForgot = "this coordinator's files of shares were put back: it cannot release this study any more; make a new plan"
)

// endedError is the public reason why a study of two servers is over.
type endedError struct{ reason string }

func (e endedError) Error() string { return e.reason }

// confirm returns why one of the two servers can no longer release a study, "" if both stand by
// their agreement. An error says nothing about that: a server out of reach may well stand by it.
func (c *runningStudy) confirm(ctx context.Context) (over string, err error) {
	ctx, stop := context.WithTimeout(ctx, confirmTime)
	defer stop()
	at, err := c.sharing.server.Progress(ctx, c.hash)
	switch {
	case err != nil:
		return "", err
	case at.Failed != "":
		return at.Failed, nil
	case at.Acceptance.Document == nil:
		return sharesForgot, nil
	}
	err = c.brought(ctx, func() error { return c.sharing.server.Confirm(ctx, c.hash, c.sharing.helper) })
	switch {
	case errors.Is(err, aggregators.ErrForgotten), errors.Is(err, protocol.ErrDenied):
		return helperForgot, nil
	case errors.Is(err, aggregators.ErrConflict):
		return sharesReason(err), nil
	}
	return "", err
}

// brought asks the helper. If the helper lacks the plan, because another study's plan took its place or
// its operator removed it, brought sends the plan and asks again. The helper's policy never refuses what
// it agreed to, so a refusal then means that it has no room just now, or that it forgot its agreement.
func (c *runningStudy) brought(ctx context.Context, ask func() error) error {
	err := ask()
	if !errors.Is(err, protocol.ErrNotFound) {
		return err
	}
	if err := c.bring(ctx); errors.Is(err, protocol.ErrDenied) {
		return fmt.Errorf("%w: %w", protocol.ErrHelper, err)
	} else if err != nil {
		return err
	}
	return ask()
}

func (c *runningStudy) bring(ctx context.Context) error {
	canonical, plan, _, err := c.isShared(ctx)
	if err != nil {
		return err
	}
	pool, err := readPool(ctx, c.store, plan.Pool)
	if err != nil {
		return err
	}
	return c.sharing.helper.Bring(ctx, c.hash, canonical, pool)
}

// confirmOpen fails an open study that one of the two servers can no longer release, and returns
// the reason. err is why a server could not be asked.
func (c *runningStudy) confirmOpen(ctx context.Context) (ended string, err error) {
	open := func() (is bool, err error) {
		err = c.view(ctx, func(m *life.Study) error {
			is = m.State == study.Open && m.Plan.Noise.Shared()
			return nil
		})
		return is, err
	}
	if is, err := open(); err != nil || !is {
		return "", err
	}
	over, err := c.confirm(ctx)
	if over == "" {
		if ctx.Err() == nil {
			c.troubled(passing(err))
		}
		return "", err
	}
	err = c.cancelUnless(ctx, over, func() error {
		if is, err := open(); err != nil || !is {
			return errors.Join(err, study.ErrNotOpen)
		}
		// Cancel here first: a study that one server forgot is never resumed.
		err := c.sharing.server.Cancel(ctx, c.hash, over)
		if errors.Is(err, aggregators.ErrFailed) {
			return nil
		}
		return ignoreHelper(err)
	})
	if err != nil {
		return "", fmt.Errorf("end study %s: %s: %w", c.hash, over, err)
	}
	return over, nil
}
