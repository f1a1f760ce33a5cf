package simulate

import (
	"context"
	"fmt"
	"math"

	"caucus/aggregation"
	"caucus/privacy"
)

// Distortion is how far a count mechanism moves the class shares of one set, whose
// counts are known here.
type Distortion struct {
	Mechanism  string            `json:"mechanism"`
	Sampler    string            `json:"sampler"`
	Parameters map[string]string `json:"parameters"`
	Counts     []int64           `json:"counts"`
	Epsilon    float64           `json:"epsilon"`
	Delta      float64           `json:"delta"`
	Draws      int               `json:"draws"`
	// MeanL1 is the mean of Σ|released share − true share|, SD its standard
	// deviation over draws, StandardError that of the mean.
	MeanL1        float64 `json:"mean_l1"`
	SD            float64 `json:"sd"`
	StandardError float64 `json:"standard_error"`
	// Expected is the forecast that auto compares, from public terms alone and
	// before projection; null where it depends on the counts.
	Expected *float64 `json:"expected_l1"`
	// Releasable: agents and coordinators release it. Otherwise Why not.
	Releasable bool    `json:"releasable"`
	Why        string  `json:"why,omitempty"`
	Seconds    float64 `json:"seconds"`
}

// mostCount bounds a class's count: sums of them are exact.
const mostCount = 1 << 40

// Distort releases the class counts of one set, 0 to 2⁴⁰ each and not all 0, so many
// times through a simulation ledger by a mechanism of privacy.CountMechanisms, and
// projects each answer onto shares. The guarantee hides one label of the set.
// Seconds is the caller's to fill in.
func Distort(ctx context.Context, mechanism string, counts []int64, budget privacy.Budget, draws int, seed uint64) (Distortion, error) {
	d := Distortion{
		Mechanism: mechanism, Counts: counts, Epsilon: budget.Epsilon, Delta: budget.Delta, Draws: draws, Why: privacy.WhyNotReleased(mechanism),
	}
	d.Releasable = d.Why == ""
	total := int64(0)
	for _, n := range counts {
		if n < 0 || n > mostCount {
			return d, fmt.Errorf("distort counts: %d is no count, give 0 to 2^40", n)
		}
		total += n
	}
	if draws < 1 {
		return d, fmt.Errorf("distort counts: %d draws, give at least 1", draws)
	}
	terms := privacy.CountTerms{Unit: privacy.Label, Classes: len(counts), Total: total, Budget: budget}
	m, err := privacy.CalibrateCounts(mechanism, terms)
	if err != nil {
		return d, err
	}
	d.Sampler, d.Parameters = m.Name(), privacy.ParametersOf(m)
	if e := privacy.ExpectedCountError(m, terms) * float64(len(counts)); !math.IsInf(e, 1) {
		d.Expected = &e
	}
	if p, ok := m.(privacy.DirichletPaper); ok {
		shown := make([]float64, len(counts))
		for j, n := range counts {
			shown[j] = float64(n)
		}
		d.Parameters["sigma of these counts"] = fmt.Sprintf("%.4g", p.SigmaFor(shown))
	}
	return d, d.draw(ctx, m, total, seed)
}

// draw measures.
func (d *Distortion) draw(ctx context.Context, m privacy.Mechanism, total int64, seed uint64) error {
	s, err := privacy.NewSensitive(d.Counts, privacy.CountBound(privacy.Label, len(d.Counts)))
	if err != nil {
		return err
	}
	ledger := privacy.Simulation(seed)
	square := 0.
	for i := range d.Draws {
		p, err := ledger.Release(ctx, fmt.Sprint(i), s, m)
		if err != nil {
			return err
		}
		estimate, err := privacy.EstimateCounts(p, []int64{total})
		if err != nil {
			return err
		}
		l1 := 0.
		for j, v := range aggregation.ProjectSimplex(estimate[0].Counts, float64(total)) {
			l1 += math.Abs(v-float64(d.Counts[j])) / float64(total)
		}
		d.MeanL1 += l1 / float64(d.Draws)
		square += l1 * l1 / float64(d.Draws)
	}
	d.SD = math.Sqrt(max(0, square-d.MeanL1*d.MeanL1))
	d.StandardError = d.SD / math.Sqrt(float64(d.Draws))
	return nil
}
