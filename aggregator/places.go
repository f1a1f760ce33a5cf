package aggregator

import (
	"context"
	"fmt"
	"time"

	"caucus/privacy"
	"caucus/study"
)

// AcceptedStudy is an accepted study that this server neither released nor ended.
type AcceptedStudy struct {
	Plan study.Hash `json:"plan"`
	// State is accepted, open or sealed.
	State string `json:"state"`
	// Contributions is the number that were checked here.
	Contributions int `json:"contributions"`
	// Deadline is the plan's. After it the study counts no more among a helper's open studies.
	// Zero: an earlier version accepted the study.
	Deadline time.Time `json:"deadline,omitzero"`
	// Costs are promised out of a helper's budget until the study ends.
	Costs []privacy.Cost `json:"costs,omitempty"`
}

// AcceptedStudies lists the accepted studies in the store of a server, which may run. It writes
// nothing.
func AcceptedStudies(ctx context.Context, store string) (all []AcceptedStudy, err error) {
	s := &Server{}
	if s.db, err = file.Open(store); err != nil {
		return nil, fmt.Errorf("list studies: %w", err)
	}
	defer s.db.Close()
	err = s.view(ctx, study.Hash{}, func(t *transaction) error {
		return t.records(func(h study.Hash, r record) error {
			if !r.open() {
				return nil
			}
			p := AcceptedStudy{Plan: h, State: r.state(), Deadline: r.Deadline, Costs: r.Costs}
			all = append(all, p)
			return t.tx.QueryRowContext(ctx, "SELECT count(*) FROM contributions WHERE study = $1", h[:]).Scan(&all[len(all)-1].Contributions)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list studies: %w", err)
	}
	return all, nil
}
