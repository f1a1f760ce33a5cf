package privacy

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Answer is a publication and the vector that it is of, which an auditor made up
// and so knows.
type Answer struct {
	Published Published
	Of        []int64
}

// Dependence looks for noise that hangs together: the same in two numbers, two
// runs, two outputs, two studies or two ledgers, the same turned round or moved,
// or only leaning the same way. Audit takes answers to be independent of each
// other and looks at few numbers of each; here all pairs are looked at.
//
// Proof note.
//   - What an honest ledger gives: noise is independent between answers and,
//     within one, between numbers, but for what a mechanism means to hang
//     together: the numbers of a block of counts, of which one is looked at, and
//     the sizes, but not the signs, in a run of K-norm noise.
//   - Repeats. Let no value of a number's noise have probability above c, given
//     all other numbers. That two words of w consecutive numbers agree in their
//     w−1 differences, or in the negatives, has probability 2·c^{w−1} at most,
//     also where the words overlap: given all before, each further number of
//     the second word must take one of two values. w is the least for which N²/2 pairs
//     of words are below the level together.
//   - Leaning. Each number has a score s in [−1,1] whose mean is 0 given all
//     numbers before it: the sign of symmetric noise; for responses and urns an
//     event of known probability, less that. For given i≠j, or lag L, the
//     products s·s′ over n answers, or places, are martingale differences, so
//     P[|Σ| ≥ t] ≤ 2e^{−t²/2n} (Azuma 1967).
//   - Sizes. Of two numbers of independent noise and of one law, either is the
//     larger in magnitude equally often: that too is a score, of every number of
//     the first half and its partner in the second.
//   - The levels of all words, pairs and lags sum to FalseAlarm: independent
//     noise is taken for dependent with probability FalseAlarm at most.
//
// What it cannot do: see dependence that leaves signs, sizes and repeats alone.
type Dependence struct {
	FalseAlarm float64 // probability that honest answers are refuted
}

// DefaultDependence has a false-alarm rate of 10⁻¹².
func DefaultDependence() Dependence { return Dependence{FalseAlarm: 1e-12} }

// DependenceFinding is what was found.
type DependenceFinding struct {
	Dependent bool `json:"dependent"`
	// By says what shows it; without dependence, what came nearest.
	By string `json:"by"`
	// Share is the largest sum of products, of what independent noise reaches
	// with probability FalseAlarm. A repeat counts as 1.
	Share   float64 `json:"share"`
	Answers int     `json:"answers"`
	Numbers int     `json:"numbers"` // that were looked at, of all answers
	Tests   int     `json:"tests"`
}

func (f *DependenceFinding) see(share float64, by string, numbers ...any) {
	f.Dependent = f.Dependent || share >= 1
	if share > f.Share {
		f.Share, f.By = share, fmt.Sprintf(by, numbers...)
	}
}

// Run looks at answers in the order of their release. It fails where an answer
// and its vector differ in length, or its mechanism is not one that may be
// released.
func (d Dependence) Run(answers []Answer) (DependenceFinding, error) {
	f := DependenceFinding{Answers: len(answers)}
	if !(d.FalseAlarm > 0 && d.FalseAlarm < 1) {
		return f, fmt.Errorf("check audit of dependence: the false-alarm rate is %v, give one above 0 and below 1", d.FalseAlarm)
	}
	var signs, sizes [][]float64
	alike := map[string]*noiseLook{} // answers of one mechanism, one after the other
	for k, a := range answers {
		n, err := noiseIn(a)
		if err != nil {
			return f, fmt.Errorf("audit of dependence, answer %d: %w", k+1, err)
		}
		signs, sizes = append(signs, n.score), append(sizes, n.sizes())
		key := fmt.Sprint(a.Published.Mechanism, a.Published.Parameters) // fmt sorts the keys of maps
		if alike[key] == nil {
			alike[key] = &noiseLook{}
		}
		all := alike[key]
		all.noise, all.chance = append(all.noise, n.noise...), max(all.chance, n.chance)
		f.Numbers += len(n.noise)
	}
	for _, key := range slices.Sorted(maps.Keys(alike)) {
		f.repeats(alike[key].noise, alike[key].chance, d.FalseAlarm/4/float64(len(alike)))
	}
	f.leaning("sign", signs, d.FalseAlarm/2)
	f.leaning("size", sizes, d.FalseAlarm/4)
	return f, nil
}

// repeats looks for two words that agree up to a shift and a sign.
func (f *DependenceFinding) repeats(noise []int64, chance, level float64) {
	n := float64(len(noise))
	if n == 0 || chance >= 1 {
		return
	}
	w := 1 + int(math.Ceil(math.Log(level/(n*n))/math.Log(chance)))
	f.Tests++
	seen := make(map[uint64]int, len(noise))
	for at := 0; at+w <= len(noise); at++ {
		h := wordOf(noise[at : at+w])
		first, again := seen[h]
		if !again {
			seen[h] = at
		} else if sameWord(noise[first:first+w], noise[at:at+w]) {
			f.see(1, "%d numbers from the %dth on repeat those from the %dth on, up to a shift and a sign", w, at+1, first+1)
			return
		}
	}
}

// wordOf hashes (FNV-1a) the differences in a word, the first that is not 0
// taken to be positive.
func wordOf(word []int64) uint64 {
	h, sign := uint64(14695981039346656037), int64(0)
	for j, v := range word[1:] {
		difference := v - word[j]
		if sign == 0 && difference != 0 {
			sign = 1
			if difference < 0 {
				sign = -1
			}
		}
		h = (h ^ uint64(sign*difference)) * 1099511628211
		h ^= h >> 29
	}
	return h
}

func sameWord(a, b []int64) bool {
	same, turned := true, true
	for j := 1; j < len(a); j++ {
		x, y := a[j]-a[j-1], b[j]-b[j-1]
		same, turned = same && x == y, turned && x == -y
	}
	return same || turned
}

// leaning looks at the products of scores of all pairs of numbers, where all
// answers have as many, of all pairs of answers, and at all lags up to the length
// of two answers.
func (f *DependenceFinding) leaning(what string, rows [][]float64, level float64) {
	var all []float64
	even, longest := true, 0
	for _, r := range rows {
		all = append(all, r...)
		longest = max(longest, len(r))
		even = even && len(r) == len(rows[0])
	}
	if len(all) == 0 {
		return
	}
	lags := min(2*longest, len(all)-1)
	tests := lags + len(rows)*(len(rows)-1)/2
	if even {
		tests += longest * (longest - 1) / 2
	}
	f.Tests += tests
	reach := 2 * math.Log(2*float64(tests)/level)
	see := func(x, y []float64, by string, numbers ...any) {
		terms := max(1, min(len(x), len(y)))
		f.see(math.Abs(products(x, y))/math.Sqrt(reach*float64(terms)), what+"s of "+by, numbers...)
	}
	for lag := 1; lag <= lags; lag++ {
		see(all[lag:], all, "each number and of that %d before it", lag)
	}
	for i := range rows {
		for j := range i {
			see(rows[i], rows[j], "answers %d and %d", j+1, i+1)
		}
	}
	if !even {
		return
	}
	columns := make([][]float64, longest)
	for j := range columns {
		for _, r := range rows {
			columns[j] = append(columns[j], r[j])
		}
	}
	for i := range columns {
		for j := range i {
			see(columns[i], columns[j], "numbers %d and %d", j+1, i+1)
		}
	}
}

// products is Σ xᵢyᵢ over the shorter of the two.
func products(x, y []float64) float64 {
	n, sum := min(len(x), len(y)), 0.
	x, y = x[:n], y[:n]
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// noiseLook is what is looked at in an answer: of each number, or of the first of
// each block of counts, its noise (of an urn, what was drawn) and its score.
type noiseLook struct {
	noise  []int64
	score  []float64
	chance float64 // of the likeliest value of a number, given all others
	// stride is how many numbers have sizes that hang together; 0: sizes are not
	// of one law, or not symmetric.
	stride int
}

// sizes are scores too: which of a number and its partner half the answer later
// is the larger in magnitude.
func (n noiseLook) sizes() []float64 {
	if n.stride == 0 {
		return nil
	}
	half := len(n.noise) / 2 / n.stride * n.stride
	var out []float64
	for j := 0; j < half; j += n.stride {
		a, b := n.noise[j], n.noise[j+half]
		out = append(out, sign(max(a, -a)-max(b, -b)))
	}
	return out
}

func sign(v int64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// noiseIn reads the noise of an answer.
func noiseIn(a Answer) (noiseLook, error) {
	p := a.Published
	if len(p.Values) != len(a.Of) {
		return noiseLook{}, fmt.Errorf("it has %d numbers, its vector %d", len(p.Values), len(a.Of))
	}
	m, err := mechanismOf(p.Mechanism, p.Parameters)
	if err != nil {
		return noiseLook{}, err
	}
	switch m := m.(type) {
	case LaplacePrior:
		return urnLook(m.urn(), a), nil
	case Dirichlet:
		return urnLook(m.urn(), a), nil
	case RandomisedResponse:
		return responseLook(m, a), nil
	}
	step := 1
	if m.Name() == (ZeroSumLaplace{}).Name() {
		step = p.Bound.block(len(a.Of))
	}
	n := noiseLook{stride: 1}
	for j := 0; j < len(a.Of); j += step {
		y := p.Values[j] - a.Of[j]
		n.noise, n.score = append(n.noise, y), append(n.score, sign(y))
	}
	switch m := m.(type) {
	case DiscreteLaplace:
		t, _ := m.Scale.Float64()
		n.chance = math.Tanh(1 / (2 * t))
	case ZeroSumLaplace: // given all others but the last of the block, P ∝ e^{−(|y|+|s−y|)/t}
		t, _ := m.Scale.Float64()
		n.chance = math.Tanh(1 / t)
	case KNorm: // given the others, the norm rises by |y| at most, and its rounding by 1
		s, _ := m.Scale.Float64()
		n.chance = math.Tanh(1/(2*s)) * math.Exp(0x1p-16/s)
		if n.stride = m.width(0, len(a.Of)); int64(len(a.Of))%m.Blocks != 0 {
			n.stride = 0 // runs of two lengths have two laws
		}
	case DiscreteGaussian:
		v, _ := m.Variance.Float64()
		if w := p.Bound.Weight; w != nil {
			v /= float64(slices.Max(w))
			if slices.Max(w) != slices.Min(w) {
				n.stride = 0
			}
		}
		n.chance = 1 / max(math.Sqrt(2*math.Pi*v), 1+2*math.Exp(-1/(2*v))) // Σ e^{−y²/2v} is above both
	case RoundedGaussian:
		s, _ := m.Deviation.Float64()
		n.chance = math.Erf(1 / (math.Sqrt(8) * s))
	default:
		return n, fmt.Errorf("%s is for simulation only: its noise has no exact law to hold it to", m.Name())
	}
	return n, nil
}

// responseLook: a class is kept with probability p; one that is not known is
// answered 0 with probability 1/K.
func responseLook(m RandomisedResponse, a Answer) noiseLook {
	k, p := int64(m.Classes), m.KeepProbability()
	n := noiseLook{chance: p}
	for j, v := range a.Of {
		q := p
		if v < 0 || v >= k {
			v, q = 0, 1/float64(k)
		}
		y := ((a.Published.Values[j]-v)%k + k) % k
		n.noise, n.score = append(n.noise, y), append(n.score, centred(y == 0, q))
	}
	return n
}

// urnLook: what is drawn of a block's first class is beta-binomial; its score is
// whether it is above a value that it passes about half of the time.
func urnLook(u urn, a Answer) noiseLook {
	c := a.Published.Bound.block(len(a.Of))
	sigma, _ := u.sigma.Float64()
	n := noiseLook{}
	type law struct {
		middle int64
		above  float64
	}
	laws := map[[2]int64]law{}
	for at := 0; at < len(a.Of); at += c {
		own, all := a.Of[at]+u.prior, int64(c)*u.prior
		for _, v := range a.Of[at : at+c] {
			all += v
		}
		l, known := laws[[2]int64{own, all}]
		if !known {
			below := 0.
			for k := int64(0); k <= u.draws; k++ {
				p := betaBinomial(k, u.draws, sigma*float64(own), sigma*float64(all-own))
				n.chance = max(n.chance, p)
				if below < 0.5 {
					below += p
					l = law{k, 1 - below}
				}
			}
			laws[[2]int64{own, all}] = l
		}
		z := a.Published.Values[at]
		n.noise, n.score = append(n.noise, z), append(n.score, centred(z > l.middle, l.above))
	}
	return n
}

// betaBinomial is P[k of n] where the probability of each is Beta(a,b).
func betaBinomial(k, n int64, a, b float64) float64 {
	g := func(x float64) float64 { l, _ := math.Lgamma(x); return l }
	x, m := float64(k), float64(n)
	return math.Exp(g(m+1) - g(x+1) - g(m-x+1) + g(a+x) + g(b+m-x) - g(a+b+m) - g(a) - g(b) + g(a+b))
}

// centred is an event of probability p as a number of mean 0, as large as fits
// into [−1,1].
func centred(event bool, p float64) float64 {
	if event {
		return (1 - p) / max(p, 1-p)
	}
	return -p / max(p, 1-p)
}
