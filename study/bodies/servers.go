package bodies

import (
	"errors"
	"fmt"
	"io"

	"caucus/aggregation/shares"
	"caucus/privacy"
	"caucus/study"
)

// Provable is a Statistic whose contributions can be split into secret shares for two servers.
type Provable interface {
	// Form describes all valid vectors with this public weight. The party proves to the servers
	// that its vector has this form, without showing the vector.
	Form(weight int64) shares.VectorForm
}

// MatrixStatistic is a Provable that releases a public matrix times the sum.
type MatrixStatistic interface {
	Matrix() *shares.Matrix // nil: the sum itself is released
}

// FormOf returns q.Form(weight), or an error if this number of parties could make the released sum
// overflow.
func FormOf(q Provable, weight, parties int64) (shares.VectorForm, error) {
	form := q.Form(weight)
	return form, check(q, form, parties)
}

func check(q Provable, form shares.VectorForm, parties int64) error {
	if a := matrixOf(q); a != nil {
		return a.Check(form, parties)
	}
	return form.Check(parties)
}

func matrixOf(q any) *shares.Matrix {
	if m, ok := q.(MatrixStatistic); ok {
		return m.Matrix()
	}
	return nil
}

// Split splits a party's local sum into one part per server (shares.VectorForm.Split). The weight
// is public.
func (s Task) Split(in study.Inputs, party study.PartyID, random io.Reader) (weight int64,
	parts shares.Parts, err error) {
	q, ok := s.Statistic.(Provable)
	if !ok {
		return 0, parts, errors.New("split contribution: nothing is proved of a share of it")
	}
	vector, weight := s.Local(in)
	form, err := FormOf(q, weight, s.Plan().MostParties())
	if err != nil {
		return 0, parts, fmt.Errorf("split contribution: %w", err)
	}
	parts, err = form.Split(shares.NewProofContext(s.Hash(), string(party)), vector, random)
	return weight, parts, err
}

var errShares = errors.New("contribute to a study with noise by aggregators: what leaves are shares, sealed for coordinator and helper (uploading.Contribute), and never the contribution itself")

// shareSize bounds the bytes of both servers' parts, for the largest numbers that FormOf accepts.
// It is 0 for a Statistic that is not Provable.
func (s Task) shareSize() int {
	q, ok := s.Statistic.(Provable)
	if !ok {
		return 0
	}
	_, most := s.Statistic.Weights()
	for form := q.Form(most); form.CellBits > 0; form.CellBits-- {
		if check(q, form, s.Plan().MostParties()) == nil {
			return form.PartSize(shares.Coordinator) + form.PartSize(shares.Helper)
		}
	}
	return 0
}

// bitSteps bounds the work of proving one bit, in steps of learners.RunReference (about a
// nanosecond each). Measurements gave 1.4 to 2.4 µs (docs/aggregators.md).
const bitSteps = 4000

// SplitSteps bounds the work of Split, in steps (study.Work), whatever the records' values. It is 0
// for a Statistic that is not Provable.
func (s Task) SplitSteps(records int) float64 {
	q, ok := s.Statistic.(Provable)
	if !ok {
		return 0
	}
	least, most := s.Statistic.Weights()
	form := q.Form(min(max(int64(records), least), most))
	return bitSteps * float64(form.Cells) * float64(form.CellBits)
}

// ShareRequest asks for the release of a server's share of the sum, multiplied by the public matrix
// if there is one. The output, and so the release ID, names the server. The bound is the bound of
// the sum, although the share is a residue (privacy.NewSensitiveShare has the proof).
func ShareRequest(q Statistic, role shares.Role, share shares.SecretShare,
	weight int64) (study.Request, error) {
	t, err := q.Terms(weight)
	if err != nil {
		return study.Request{}, err
	}
	if a := matrixOf(q); a != nil {
		if share, err = a.ApplyToShare(share); err != nil {
			return study.Request{}, err
		}
	}
	residues, err := share.Residues()
	if err != nil {
		return study.Request{}, err
	}
	s, err := privacy.NewSensitiveShare(residues, t.Bound)
	return study.Request{Output: study.ShareOutput(t.Output, int(role)), Sensitive: s,
		Mechanism: t.Mechanism, SourceDigest: t.MatrixDigest}, err
}

// ShareID is the id under which one server's ledger knows its share of a release. The two servers
// have different ids.
func ShareID(plan study.Hash, t study.ReleaseTerms, role shares.Role) string {
	return study.ReleaseID(plan, study.ShareOutput(t.Output, int(role)))
}

func (s Task) joined(weight int64, r []privacy.Published) (Total, error) {
	if len(r) != study.Servers {
		return Total{}, fmt.Errorf("have %d releases, want one of each server, %d", len(r),
			study.Servers)
	}
	for i := range r {
		if have, want := len(r[i].Residues), s.Statistic.ReleasedCells(); have != want {
			return Total{}, fmt.Errorf("the %v's release has %d numbers of a share, want %d", shares.Role(i), have, want)
		}
	}
	values, err := shares.Combine(r[shares.Coordinator].Residues, r[shares.Helper].Residues)
	total := Total{Weight: float64(weight), Draws: study.Servers,
		Values: make([]float64, len(values))}
	for j, v := range values {
		total.Values[j] = float64(v)
	}
	return total, err
}
