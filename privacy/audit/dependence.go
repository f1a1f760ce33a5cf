package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Noise is the noise in one answer about a vector that the auditor knows. It leaves out numbers
// that depend on each other by design.
type Noise struct {
	// Law names the mechanism and its parameters. Repeats are sought across answers of one law.
	Law string
	// Numbers holds the noise added or, if a mechanism adds nothing, the numbers drawn.
	Numbers []int64
	// Score holds one number in [−1,1] for each of Numbers, with mean 0 given all earlier ones.
	Score []float64
	// MaxProbability bounds the probability of any value of a number, given all other numbers. 1
	// says nothing.
	MaxProbability float64
	// RunLength is the length of the runs in which sizes depend on each other; 1 if all are
	// independent. 0 skips the test of sizes, because the numbers' laws differ or are not
	// symmetric.
	RunLength int
}

func (n Noise) validate() error {
	if len(n.Score) != len(n.Numbers) {
		return fmt.Errorf("it has %d numbers and %d scores, give one score each", len(n.Numbers), len(n.Score))
	}
	if len(n.Numbers) > 0 && !(n.MaxProbability > 0) {
		return fmt.Errorf("the likeliest value has probability %v, give one above 0", n.MaxProbability)
	}
	for j, s := range n.Score {
		if !(s >= -1 && s <= 1) {
			return fmt.Errorf("score %d is %v, give one from -1 to 1", j+1, s)
		}
	}
	if n.RunLength < 0 {
		return fmt.Errorf("runs have %d numbers, give 0 (sizes say nothing) or more", n.RunLength)
	}
	return nil
}

// sizes returns a score for the first number of each run in an answer's first half: 1, 0 or −1 if
// its magnitude is larger than, equal to or smaller than that of its partner half an answer later.
func (n Noise) sizes() []float64 {
	if n.RunLength == 0 {
		return nil
	}
	half := len(n.Numbers) / 2 / n.RunLength * n.RunLength
	var out []float64
	for j := 0; j < half; j += n.RunLength {
		a, b := n.Numbers[j], n.Numbers[j+half]
		out = append(out, float64(cmp.Compare(max(a, -a), max(b, -b))))
	}
	return out
}

// DependenceTest looks for noise that repeats or correlates: between two numbers, runs, outputs,
// studies or ledgers; equal, negated or shifted, or only correlated in sign or size. Audit assumes
// independent answers and looks at few numbers of each; DependenceTest looks at all pairs.
//
// Proof note.
//   - An honest ledger's noise is independent between answers and, within one answer, between
//     numbers. The exceptions are by design: the numbers of a block of counts, of which only one is
//     read, and the sizes, but not the signs, in a run of K-norm noise.
//   - Repeats. Let no value of a number's noise have probability above c, given all other numbers.
//     Two words of w consecutive numbers agree in their w−1 differences, or in the negated ones,
//     with probability at most 2·c^{w−1}. This holds even for overlapping words: given all before,
//     each further number of the second word must take one of two values. w is the least for which
//     N²/2 pairs of words stay below the level together.
//   - Leaning. Each number has a score s in [−1,1] with mean 0 given all earlier numbers: the sign
//     of symmetric noise; for responses and urns, an event of known probability minus that
//     probability. For given i≠j, or lag L, the products s·s′ over n answers, or places, are
//     martingale differences, so P[|Σ| ≥ t] ≤ 2e^{−t²/2n} (Azuma 1967).
//   - Sizes. If two numbers have independent noise of one law, each is equally often the larger in
//     magnitude. So the sign of that comparison is a score too, for each number of the first half
//     and its partner in the second.
//   - The levels of all words, pairs and lags sum to FalseAlarm: independent noise is declared
//     dependent with probability at most FalseAlarm.
//
// It can't see dependence that leaves signs and sizes uncorrelated and repeats no word.
type DependenceTest struct {
	FalseAlarm float64 // probability that honest answers are refuted
}

// DefaultDependenceTest returns an audit with a false-alarm rate of 10⁻¹².
func DefaultDependenceTest() DependenceTest { return DependenceTest{FalseAlarm: 1e-12} }

// DependenceFinding says whether answers' noise repeats or leans, what shows that, and how much was
// looked at.
type DependenceFinding struct {
	Dependent bool `json:"dependent"`
	// By names the evidence or, without dependence, the test that came nearest.
	By string `json:"by"`
	// Share is the largest sum of products, relative to the sum that independent noise reaches with
	// probability FalseAlarm. A repeat counts as 1.
	Share   float64 `json:"share"`
	Answers int     `json:"answers"`
	Numbers int     `json:"numbers"` // numbers read, in all answers
	Tests   int     `json:"tests"`
}

func (d *DependenceFinding) see(share float64, by string, numbers ...any) {
	d.Dependent = d.Dependent || share >= 1
	if share > d.Share {
		d.Share, d.By = share, fmt.Sprintf(by, numbers...)
	}
}

// Run reads answers in the order of their release. It fails on an invalid Noise.
func (d DependenceTest) Run(answers []Noise) (DependenceFinding, error) {
	f := DependenceFinding{Answers: len(answers)}
	if !(d.FalseAlarm > 0 && d.FalseAlarm < 1) {
		return f, fmt.Errorf("check audit of dependence: the false-alarm rate is %v, give one above 0 and below 1", d.FalseAlarm)
	}
	var signs, sizes [][]float64
	alike := map[string]Noise{} // answers of one law, concatenated
	for k, n := range answers {
		if err := n.validate(); err != nil {
			return f, fmt.Errorf("audit of dependence, answer %d: %w", k+1, err)
		}
		signs, sizes = append(signs, n.Score), append(sizes, n.sizes())
		all := alike[n.Law]
		all.Numbers, all.MaxProbability = append(all.Numbers, n.Numbers...),
			max(all.MaxProbability, n.MaxProbability)
		alike[n.Law] = all
		f.Numbers += len(n.Numbers)
	}
	for _, law := range slices.Sorted(maps.Keys(alike)) {
		f.repeats(alike[law].Numbers, alike[law].MaxProbability, d.FalseAlarm/4/float64(len(alike)))
	}
	f.leaning("sign", signs, d.FalseAlarm/2)
	f.leaning("size", sizes, d.FalseAlarm/4)
	return f, nil
}

// repeats finds the first two words (runs of numbers, see DependenceTest) that agree up to a shift
// and a sign.
func (d *DependenceFinding) repeats(noise []int64, chance, level float64) {
	n := float64(len(noise))
	if n == 0 || chance >= 1 {
		return
	}
	w := 1 + int(math.Ceil(math.Log(level/(n*n))/math.Log(chance)))
	d.Tests++
	seen := make(map[uint64]int, len(noise))
	for at := 0; at+w <= len(noise); at++ {
		h := wordOf(noise[at : at+w])
		first, again := seen[h]
		if !again {
			seen[h] = at
		} else if sameWord(noise[first:first+w], noise[at:at+w]) {
			d.see(1, "%d numbers from the %dth on repeat those from the %dth on, up to a shift and a sign", w, at+1, first+1)
			return
		}
	}
}

// wordOf hashes (FNV-1a) the differences in a word, negated if the first nonzero one is negative.
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

// leaning tests whether scores are correlated: at each lag up to twice the longest answer, in the
// sequence of all scores; between each two answers; and, if all answers are equally long, between
// each two places.
func (d *DependenceFinding) leaning(what string, rows [][]float64, level float64) {
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
	d.Tests += tests
	reach := 2 * math.Log(2*float64(tests)/level)
	see := func(x, y []float64, by string, numbers ...any) {
		terms := max(1, min(len(x), len(y)))
		d.see(math.Abs(products(x, y))/math.Sqrt(reach*float64(terms)), what+"s of "+by, numbers...)
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

func products(x, y []float64) float64 {
	n, sum := min(len(x), len(y)), 0.
	x, y = x[:n], y[:n]
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}
