package describe

import (
	"caucus/study"
)

// eachParty is the task of a plan that shows each site's table and the total. A site releases the
// same numbers as in a plan with the total only, and their guarantee holds whoever reads them.
// Tables are post-processing of these numbers. Bodies are kept, because a sum has no tables of
// sites.
type EachPartyTask struct{ Task }

// Check reads a body as the sum of a plan without sites would, so both accept the same ones.
func (e EachPartyTask) Check(body []byte) error {
	sum, err := e.Task.NewSum()
	if err != nil {
		return err
	}
	return sum.Check(body)
}

// PublicBodies returns true, because each body passed its party's ledger and the plan says who
// reads it.
func (e EachPartyTask) PublicBodies() bool { return true }

// NewSum returns study.ErrNoSum: bodies are kept, because a sum has no table of a site.
func (e EachPartyTask) NewSum() (study.Sum, error) { return nil, study.ErrNoSum }
