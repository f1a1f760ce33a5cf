package privacy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// CountBound bounds the class counts of disjoint sets, one block of classes per set. The sets'
// sizes are public, so replacing a unit within its set moves 1 from one count to another.
func CountBound(u Unit, classes int) Bound {
	return Bound{Unit: u, L1: 2, L2sq: 2, Cells: 2, KeepsSum: true, Block: classes}
}

// CountMechanisms lists the names that CalibrateCounts takes. The last three are for simulation
// only.
func CountMechanisms() []string {
	return []string{"auto", "laplace", "gaussian", "gaussian-zcdp", "dirichlet", "laplace-prior",
		"laplace-paper", "dirichlet-paper", "none"}
}

// CountTerms holds public facts about counts. Total is the approximate number of units in a block.
// It tunes the urns (Dirichlet, LaplacePrior) and the choice of auto; no proof depends on it.
type CountTerms struct {
	Unit    Unit
	Classes int
	Total   int64
	Budget  Budget
}

// CalibrateCounts makes the named mechanism for class counts:
//
//	laplace        ZeroSumLaplace, pure ε
//	gaussian       RoundedGaussian, (ε,δ) by the analytic curve
//	gaussian-zcdp  DiscreteGaussian, (ε,δ) by zCDP: fits a ledger of the same (ε,δ)
//	dirichlet      Dirichlet, (ε,δ)
//	laplace-prior  LaplacePrior, pure ε
//	auto           the one of these with the least expected error
//	laplace-paper, dirichlet-paper, none: simulation only
func CalibrateCounts(name string, t CountTerms) (Mechanism, error) {
	if t.Classes < 2 || t.Total < 1 {
		return nil, fmt.Errorf("calibrate counts: %d classes and a total of %d: give at least 2 and 1", t.Classes, t.Total)
	}
	if err := t.Budget.Validate(); err != nil && name != "none" {
		return nil, fmt.Errorf("calibrate counts: %w", err)
	}
	b := CountBound(t.Unit, t.Classes)
	switch name {
	case "laplace":
		return mechanismOr(CalibrateZeroSumLaplace(b, t.Budget.Epsilon))
	case "gaussian":
		return mechanismOr(CalibrateRoundedGaussian(b, t.Budget))
	case "gaussian-zcdp":
		return mechanismOr(CalibrateGaussian(b, t.Budget))
	case "dirichlet":
		return mechanismOr(CalibrateDirichlet(b, t.Budget, t.Classes, t.Total))
	case "laplace-prior":
		return mechanismOr(CalibrateLaplacePrior(b, t.Budget.Epsilon, t.Classes, t.Total))
	case "auto":
		return bestForCounts(t)
	case "laplace-paper":
		return LaplacePaper{Scale: 2 / t.Budget.Epsilon}, nil
	case "dirichlet-paper":
		if t.Budget.Delta == 0 {
			return nil, errors.New("calibrate counts: dirichlet-paper needs a delta above 0")
		}
		return DirichletPaper{t.Budget.Epsilon, t.Budget.Delta}, nil
	case "none":
		return Unperturbed{}, nil
	}
	return nil, fmt.Errorf("calibrate counts: unknown mechanism %q: use one of %s", name, strings.Join(CountMechanisms(), ", "))
}

func bestForCounts(t CountTerms) (Mechanism, error) {
	var best Mechanism
	var reasons []error
	least := math.Inf(1)
	for _, name := range []string{"laplace", "gaussian", "dirichlet", "laplace-prior"} {
		m, err := CalibrateCounts(name, t)
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		if e := ExpectedCountError(m, t); e < least {
			best, least = m, e
		}
	}
	if best == nil {
		return nil, errors.Join(reasons...)
	}
	return best, nil
}

// ExpectedCountError approximates the mean absolute error of one class's share of a block if all
// counts are equal, before projection. It is 0 without noise and +Inf if the error depends on the
// counts.
func ExpectedCountError(m Mechanism, t CountTerms) float64 {
	c, total := float64(t.Classes), float64(t.Total)
	b := CountBound(t.Unit, t.Classes)
	switch m := m.(type) {
	case LaplacePrior:
		return m.urn().expected(t.Classes, t.Total)
	case Dirichlet:
		return m.urn().expected(t.Classes, t.Total)
	case DirichletPaper:
		return math.Inf(1)
	case ZeroSumLaplace: // E|y| of a Laplace is its deviation over √2
		return math.Sqrt(m.variance(b, 0, t.Classes)/2) / total
	case Unperturbed:
		return 0
	// independent noise minus the block's mean noise: E|y| of a normal is √(2/π) deviations
	default:
		return math.Sqrt(2/math.Pi*m.variance(b, 0, t.Classes)*(1-1/c)) / total
	}
}

// CountEstimate estimates one block's counts without bias. They sum to the public total; some may
// be negative.
type CountEstimate struct {
	Counts []float64
	// Covariance of the noise, classes×classes row by row. Where it depends on the true counts
	// (urns), the released shares replace them.
	Covariance []float64
}

// EstimateCounts post-processes a release (possibly simulated) into an estimate for each block.
// totals are the blocks' public sums.
func EstimateCounts(p Published, totals []int64) ([]CountEstimate, error) {
	m, err := MechanismOf(p.Mechanism, p.Parameters)
	if err != nil {
		return nil, fmt.Errorf("estimate counts: %w", err)
	}
	c := p.Bound.block(p.Len())
	if c < 2 || p.Len() != c*len(totals) {
		return nil, fmt.Errorf("estimate counts: %d numbers in blocks of %d for %d sets", p.Len(), c, len(totals))
	}
	values := p.Reals
	if values == nil {
		values = make([]float64, len(p.Values))
		for j, v := range p.Values {
			values[j] = float64(v)
		}
	}
	var out []CountEstimate
	for s, total := range totals {
		out = append(out, estimateBlock(m, p.Bound, slices.Clone(values[s*c:(s+1)*c]),
			float64(total)))
	}
	return out, nil
}

func estimateBlock(m Mechanism, b Bound, counts []float64, total float64) CountEstimate {
	c := len(counts)
	var covariance func(i, j int) float64
	// for counts whose noise has this variance and sums to zero
	exchangeable := func(variance float64) func(i, j int) float64 {
		return func(i, j int) float64 {
			if i == j {
				return variance
			}
			return -variance / float64(c-1)
		}
	}
	switch m := m.(type) {
	case LaplacePrior:
		counts, covariance = m.urn().estimate(counts, total)
	case Dirichlet:
		counts, covariance = m.urn().estimate(counts, total)
	case ZeroSumLaplace:
		covariance = exchangeable(m.variance(b, 0, c))
	default:
		covariance = exchangeable(m.variance(b, 0, c) * (1 - 1/float64(c)))
		off := total
		for _, v := range counts {
			off -= v
		}
		for j := range counts {
			counts[j] += off / float64(c)
		}
	}
	e := CountEstimate{Counts: counts, Covariance: make([]float64, c*c)}
	for i := range c {
		for j := range c {
			e.Covariance[i*c+j] = covariance(i, j)
		}
	}
	return e
}
