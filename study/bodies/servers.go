package bodies

import (
	"errors"
	"fmt"

	"caucus/aggregation/shares"
	"caucus/privacy"
	"caucus/study"
)

// Provable is a Statistic whose contributions can be split between two servers: a party
// proves to them that its vector is of a form.
type Provable interface {
	// Form is that of a contribution of a public weight.
	Form(weight int64) shares.Form
}

var errNoHelper = errors.New("contribute to a study with noise by aggregators: this version has no helper that could take a share, and nothing is sent without one")

// ShareRequest makes the release of a server's share of the sum of all contributions. Its
// output, and so its id, is the server's own, and its bound that of the sum over the
// integers: see privacy.NewShare.
func ShareRequest(q Statistic, role shares.Role, share []privacy.Residue, weight int64) (study.Request, error) {
	t, err := q.Terms(weight)
	if err != nil {
		return study.Request{}, err
	}
	s, err := privacy.NewShare(share, t.Bound)
	return study.Request{Output: fmt.Sprintf("%s/%v", t.Output, role), Sensitive: s, Mechanism: t.Mechanism, From: t.Matrix}, err
}

// joined adds what the two servers released: the sum with both noises.
func (s Task) joined(weight int64, r []privacy.Published) (Total, error) {
	if len(r) != study.Servers {
		return Total{}, fmt.Errorf("have %d releases, want one of each server, %d", len(r), study.Servers)
	}
	for i := range r {
		if have, want := len(r[i].Residues), s.Statistic.ReleasedCells(); have != want {
			return Total{}, fmt.Errorf("the %v's release has %d numbers of a share, want %d", shares.Role(i), have, want)
		}
	}
	values, err := shares.Combine(r[shares.Coordinator].Residues, r[shares.Helper].Residues)
	total := Total{Weight: float64(weight), Draws: study.Servers, Values: make([]float64, len(values))}
	for j, v := range values {
		total.Values[j] = float64(v)
	}
	return total, err
}
