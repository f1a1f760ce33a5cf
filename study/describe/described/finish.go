package described

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/describe"
)

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Table, into which a release's body is read strictly.
func (Results) Body() any { return new(Table) }

// Finisher finishes tasks of package describe, with a table for each site if the plan shows them.
// It panics for others.
func (Results) Finisher(t study.Task) study.Finisher {
	if each, ok := t.(describe.EachPartyTask); ok {
		return sitesFinisher{each}
	}
	return finisher{t.(describe.Task)}
}

type finisher struct{ describe.Task }

func (f finisher) Finish(of study.Contributions, r []privacy.Published) (study.Result, error) {
	return f.FinishBy(f, of, r)
}

// FinishTotal implements bodies.Finisher.
func (f finisher) FinishTotal(total bodies.Total, _ *rand.Rand) (study.Result, error) {
	q := f.Counted
	sd, err := q.Deviation(total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	noisy := make([]int64, len(total.Values))
	for i, v := range total.Values {
		noisy[i] = int64(v)
	}
	return study.NewResult(tables{q.Layout}.table(noisy, int64(total.Weight), sd), nil)
}

// Site is the table of one site's records, with that site's noise.
type Site struct {
	Party study.PartyID `json:"party"`
	Table `json:"table"`
}

// sitesFinisher makes a table of each party.
type sitesFinisher struct{ describe.EachPartyTask }

// Finish makes a table of each body and a table of their sum.
func (s sitesFinisher) Finish(of study.Contributions, _ []privacy.Published) (study.Result, error) {
	fail := func(err error) (study.Result, error) {
		return study.Result{}, fmt.Errorf("finish describe: %w", err)
	}
	if of.Bodies == nil {
		return fail(fmt.Errorf("it takes the bodies of the contributions"))
	}
	all, err := s.Task.NewSum()
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
		one, err := s.Task.NewSum()
		if err == nil {
			err = one.Add(body)
		}
		if err == nil {
			err = all.Merge(one)
		}
		if err != nil {
			return fail(err)
		}
		table, err := s.tableOf(one, 1)
		if err != nil {
			return fail(err)
		}
		sites = append(sites, Site{of.Senders[len(sites)], table})
	}
	if len(sites) != len(of.Senders) {
		return fail(fmt.Errorf("%d parties are named as senders of %d bodies", len(of.Senders),
			len(sites)))
	}
	together, err := s.tableOf(all, len(sites))
	if err != nil {
		return fail(err)
	}
	slices.SortFunc(sites, func(a, b Site) int { return cmp.Compare(a.Party, b.Party) })
	together.Sites = sites
	return study.NewResult(together, nil)
}

func (s sitesFinisher) tableOf(sum study.Sum, contributions int) (out Table, err error) {
	made, err := finisher{s.Task}.Finish(study.Contributions{Contributions: contributions,
		Weight: sum.Weight(), Sum: sum}, nil)
	if err == nil {
		err = made.DecodeBody(&out)
	}
	return out, err
}

// tables makes tables of released numbers.
type tables struct{ describe.Layout }
