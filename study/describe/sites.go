package describe

import (
	"cmp"
	"fmt"
	"slices"

	"caucus/privacy"
	"caucus/study"
)

// eachParty is the task of a plan that shows each site's table and the total. A site releases the same
// numbers as in a plan with the total only, and their guarantee holds whoever reads them. Tables are
// post-processing of these numbers. Bodies are kept, because a sum has no tables of sites.
type eachParty struct{ task }

// Site is the table of one site's records, with that site's noise.
type Site struct {
	Party study.PartyID `json:"party"`
	Table `json:"table"`
}

func (t eachParty) Check(body []byte) error {
	sum, err := t.task.NewSum()
	if err != nil {
		return err
	}
	return sum.Check(body)
}

// PublicBodies returns true, because each body passed its party's ledger and the plan says who reads it.
func (t eachParty) PublicBodies() bool { return true }

func (t eachParty) NewSum() (study.Sum, error) { return nil, study.ErrKept }

// Finish makes a table of each body and a table of their sum.
func (t eachParty) Finish(of study.Summed, _ []privacy.Published) (study.Result, error) {
	fail := func(err error) (study.Result, error) { return study.Result{}, fmt.Errorf("finish describe: %w", err) }
	if of.Bodies == nil {
		return fail(fmt.Errorf("it takes the bodies of the contributions"))
	}
	all, err := t.task.NewSum()
	if err != nil {
		return fail(err)
	}
	var sites []Site
	for body, err := range of.Bodies {
		if err != nil {
			return fail(err)
		}
		if len(sites) == len(of.Senders) {
			return fail(fmt.Errorf("%d parties are named as senders, and there are more bodies", len(sites)))
		}
		one, err := t.task.NewSum()
		if err == nil {
			err = one.Add(body)
		}
		if err == nil {
			err = all.Merge(one)
		}
		if err != nil {
			return fail(err)
		}
		table, err := t.tableOf(one, 1)
		if err != nil {
			return fail(err)
		}
		sites = append(sites, Site{of.Senders[len(sites)], table})
	}
	if len(sites) != len(of.Senders) {
		return fail(fmt.Errorf("%d parties are named as senders of %d bodies", len(of.Senders), len(sites)))
	}
	together, err := t.tableOf(all, len(sites))
	if err != nil {
		return fail(err)
	}
	slices.SortFunc(sites, func(a, b Site) int { return cmp.Compare(a.Party, b.Party) })
	together.Sites = sites
	return study.NewResult(together, nil)
}

func (t eachParty) tableOf(sum study.Sum, contributions int) (out Table, err error) {
	made, err := t.task.Finish(study.Summed{Contributions: contributions, Weight: sum.Weight(), Sum: sum}, nil)
	if err == nil {
		err = made.DecodeBody(&out)
	}
	return out, err
}
