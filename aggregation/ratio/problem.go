package ratio

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Reason says why class ratios cannot be estimated, or only badly. Comments name the number
// reported with each.
type Reason string

const (
	ClassAbsent Reason = "class-absent" // no set contains the class; number: its largest share
	// the sets' shares are (nearly) alike; number: condition number of P
	IllPosed          Reason = "ill-conditioned"
	TooFewSets        Reason = "too-few-sets"    // number: sets given
	SetTooSmall       Reason = "tiny-set"        // number: rows of the set
	EmptyTarget       Reason = "empty-target"    // number: rows
	ShapeMismatch     Reason = "shape"           // sets disagree in columns or classes
	PoorFit           Reason = "no-mixture-fits" // number: fit statistic
	ClassesTooSimilar Reason = "faint-classes"   // classes hardly differ under this kernel
	NoisyShares       Reason = "noisy-shares"    // noise exceeds the differences between sets
	// number: share of noise in a difference between classes
	GramNotPositive      Reason = "indefinite-gram"
	ConservativeInterval Reason = "loose-interval" // its spread is an upper bound
)

// Refusal is the error of an impossible estimate. Value is the quantity that explains it.
type Refusal struct {
	Reason Reason
	Value  float64
	Advice string
}

// Error gives the reason, the number behind it with four digits, and what to do.
func (r *Refusal) Error() string {
	return fmt.Sprintf("class ratios: %s (%.4g): %s", r.Reason, r.Value, r.Advice)
}

// Warning accompanies an estimate that can be made but should be doubted.
type Warning struct {
	Reason Reason  `json:"reason"`
	Value  float64 `json:"number"`
	Limit  float64 `json:"limit"`
	Advice string  `json:"advice"`
}

// Limits on the condition number of the share matrix P, which multiplies errors in a mean
// embedding. Beyond 1e6 the sets' shares are practically equal.
const (
	ratioWarnCondition   = 20
	ratioRefuseCondition = 1e6
)

// absentDeviations bounds the noisy share of an absent class, in standard deviations. Noise exceeds
// it once in 1,000.
const absentDeviations = 3

// ratioProblem is the input of every estimator: the sets' Gram and shares, with their noises.
type ratioProblem struct {
	gram   Gram
	shares *mat.Dense // c×M, columns sum to 1 (noisy entries may be negative)
	cov    []*mat.SymDense
	noise  []float64 // variance of privacy noise per coordinate, per set
	dim    int       // coordinates of an embedding; 0 with kernel values
	rank   float64   // effective rank of the sampling noise
}

func (r ratioProblem) sets() int    { _, m := r.shares.Dims(); return m }
func (r ratioProblem) classes() int { c, _ := r.shares.Dims(); return c }

// weights are inverse variances of the embeddings up to a factor: sampling noise of a unit-norm map
// falls as 1/n, privacy noise adds D·s, and share noise of covariance C moves the fit by at most tr
// C.
func (r ratioProblem) weights() []float64 {
	w := make([]float64, r.sets())
	var sum float64
	for i, n := range r.gram.SetSizes {
		variance := max(r.gram.MeanSelfKernel[i], 1e-300)/float64(n) + float64(r.dim)*r.noise[i]
		if c := r.cov[i]; c != nil {
			variance += r.gram.MeanSelfKernel[i] * mat.Trace(c)
		}
		w[i] = 1 / variance
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

func (r ratioProblem) selectSets(sets []int) ratioProblem {
	out := ratioProblem{gram: r.gram.Select(sets), dim: r.dim, rank: r.rank}
	out.shares = mat.NewDense(r.classes(), len(sets), nil)
	for a, i := range sets {
		for k := range r.classes() {
			out.shares.Set(k, a, r.shares.At(k, i))
		}
		out.cov = append(out.cov, r.cov[i])
		out.noise = append(out.noise, r.noise[i])
	}
	return out
}

func (r ratioProblem) singular() (high, low float64) {
	var svd mat.SVD
	if !svd.Factorize(r.shares, mat.SVDNone) {
		return 0, 0
	}
	values := svd.Values(nil)
	if len(values) < r.classes() {
		return values[0], 0
	}
	return values[0], values[r.classes()-1]
}

// check refuses sets from which no estimate is possible. full says that the estimator must separate
// all classes.
func (r ratioProblem) check(full bool) ([]Warning, error) {
	c, m := r.shares.Dims()
	if m < 2 {
		return nil, &Refusal{TooFewSets, float64(m), "one set cannot separate classes: give at least as many sets as classes, with different shares"}
	}
	var warnings []Warning
	for k := range c {
		// the class's largest share in a set, before and after subtracting noise
		top, sure := 0., 0.
		exact := true
		for i := range m {
			share, sd := r.shares.At(k, i), 0.
			if r.cov[i] != nil {
				sd, exact = math.Sqrt(max(r.cov[i].At(k, k), 0)), false
			}
			top, sure = max(top, share), max(sure, share-absentDeviations*sd)
		}
		if sure > 1e-9 {
			continue
		}
		if advice := "no set contains class %d (the first is 0): add a set that does, or leave the class out of the plan"; exact && full {
			return nil, &Refusal{ClassAbsent, top, fmt.Sprintf(advice, k)}
		} else if exact {
			warnings = append(warnings, Warning{ClassAbsent, top, 0, fmt.Sprintf(advice, k)})
		} else {
			warnings = append(warnings, Warning{ClassAbsent, top, 0, fmt.Sprintf("no set surely contains class %d (the first is 0): its largest released share is within %d standard deviations of the noise; add a set that contains it, or leave the class out of the plan", k, absentDeviations)})
		}
	}
	if full && m < c {
		return nil, &Refusal{TooFewSets, float64(m), fmt.Sprintf("%d classes need at least %d sets with different shares", c, c)}
	}
	high, low := r.singular()
	condition := math.Inf(1)
	if low > 0 {
		condition = min(high/low, 1e300)
	}
	const advice = "the sets' class shares differ too little to tell the classes apart: add sets whose shares differ"
	if full && condition > ratioRefuseCondition {
		return nil, &Refusal{IllPosed, min(condition, 1e300), advice}
	}
	if condition > ratioWarnCondition {
		warnings = append(warnings,
			Warning{IllPosed, min(condition, 1e300), ratioWarnCondition, advice})
	}
	return warnings, nil
}

// condition returns the factor in the paper's error bound: the largest singular value of P̂ over
// the smallest of Â, the (V-statistic) Gram of the sets.
func (r ratioProblem) condition() float64 {
	high, _ := r.singular()
	var eigen mat.EigenSym
	if !eigen.Factorize(r.gram.VStatistic, false) {
		return 1e300
	}
	low := math.Inf(1)
	for _, v := range eigen.Values(nil) {
		low = min(low, math.Abs(v))
	}
	return min(high/low, 1e300)
}
