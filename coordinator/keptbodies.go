package coordinator

import (
	"context"
	"errors"
	"fmt"

	"caucus/coordinator/records"
	"caucus/study"
	"caucus/study/life"
)

// bodies iterates over the stored bodies of a study whose task keeps them (study.BodyKeeper), with
// one body in memory at a time. It writes nothing. No other goroutine moves the bodies while the
// study is folded or released. A missing body yields errMissingBody.
func (rs *runningStudy) bodies(ctx context.Context, s *life.Study) study.Bodies {
	return func(yield func([]byte, error) bool) {
		for _, party := range s.ContributorsByBody() {
			var body []byte
			err := rs.store.View(ctx, func(tx records.Tx) (err error) {
				body, err = tx.Body(rs.hash, party)
				return err
			})
			if errors.Is(err, records.ErrNoRow) {
				err = fmt.Errorf("%w: that of %s", errMissingBody, party)
			}
			if !yield(body, err) || err != nil {
				return
			}
		}
	}
}

func count(all study.Bodies) (n int, err error) {
	for _, err := range all {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
