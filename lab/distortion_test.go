package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"caucus/privacy"
)

// distortion is how far a count mechanism moves the class shares of one set, whose counts are
// known here. The guarantee hides one label of the set.
type distortion struct {
	mechanism privacy.Mechanism
	// the forecast that auto compares, by public numbers and before projection; +Inf where it
	// depends on the counts
	expected float64
	mean, sd float64 // of Σ|released share − true share| over the draws
	draws    int
}

// distortionOf releases counts, not all 0, so many times through a simulation ledger.
func distortionOf(ctx context.Context, name string, counts []int64, budget privacy.Budget,
	draws int, seed uint64) (distortion, error) {
	d := distortion{draws: draws}
	total := int64(0)
	for _, n := range counts {
		if n < 0 || n > 1<<40 {
			return d, fmt.Errorf("%d is no count, give 0 to 2^40", n)
		}
		total += n
	}
	terms := privacy.CountTerms{Unit: privacy.Label, Classes: len(counts), Total: total,
		Budget: budget}
	var err error
	if d.mechanism, err = privacy.CalibrateCounts(name, terms); err != nil {
		return d, err
	}
	d.expected = privacy.ExpectedCountError(d.mechanism, terms) * float64(len(counts))
	s, err := privacy.NewSensitive(counts, privacy.CountBound(privacy.Label, len(counts)))
	if err != nil {
		return d, err
	}
	ledger, square := privacy.NewSimulation(seed), 0.
	for i := range draws {
		r, err := ledger.Release(ctx, fmt.Sprint(i), s, d.mechanism)
		if err != nil {
			return d, err
		}
		l1, err := movedShares(r, counts)
		if err != nil {
			return d, err
		}
		d.mean += l1 / float64(draws)
		square += l1 * l1 / float64(draws)
	}
	d.sd = math.Sqrt(max(0, square-d.mean*d.mean))
	return d, nil
}

// whyNotReleased says of the mechanisms that are for simulation only why.
var whyNotReleased = map[string]string{
	"laplace-paper":   "real-valued noise in floating point has no proof: neighbouring counts can be told apart by its last bits; use laplace",
	"dirichlet-paper": "its σ depends on the private counts, so it is not (ε,δ)-private: with counts 50,50,50,50,800 and ε = δ = .05 its true δ is above .06; use dirichlet",
	"unperturbed":     "it adds no noise",
}

// releasable: agents and coordinators release it, since it has a cost.
func (d distortion) releasable(classes int) bool {
	_, err := privacy.CostOf(d.mechanism, privacy.CountBound(privacy.Label, classes))
	return err == nil
}

// row is a line of the table.
func (d distortion) row(name string, counts []int64) []string {
	text := privacy.ParametersOf(d.mechanism)
	if p, ok := d.mechanism.(privacy.DirichletPaper); ok {
		var shown []float64
		for _, n := range counts {
			shown = append(shown, float64(n))
		}
		text["sigma of these counts"] = fmt.Sprintf("%.4g", p.SigmaFor(shown))
	}
	var parameters []string
	for _, k := range slices.Sorted(maps.Keys(text)) {
		parameters = append(parameters, k+" "+text[k])
	}
	expected := "by the counts"
	if !math.IsInf(d.expected, 1) {
		expected = fmt.Sprintf("%.4f", d.expected)
	}
	released := "yes"
	if !d.releasable(len(counts)) {
		released = "simulation only: " + whyNotReleased[d.mechanism.Name()]
	}
	return []string{name, d.mechanism.Name(), fmt.Sprintf("%.4f", d.mean),
		fmt.Sprintf("%.4f", d.sd/math.Sqrt(float64(d.draws))),
		fmt.Sprintf("%.4f", d.sd), fmt.Sprint(d.draws), expected, strings.Join(parameters,
			", "), released}
}

// given is a value of the environment, or the default.
func given[T any](t *testing.T, name string, otherwise T, parse func(string) (T, error)) T {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	v, err := parse(text)
	if err != nil {
		t.Fatalf("%s=%q: %v", name, text, err)
	}
	return v
}

func numberOf(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// TestDistortion logs the table of docs/ratio.md: how far each count mechanism moves the class
// shares of one set on average. In the environment,
//
//	CAUCUS_COUNTS                  class counts of the set (default 50,50,50,50,800)
//	CAUCUS_EPSILON, CAUCUS_DELTA   for each label (default .05 and .05)
//	CAUCUS_MECHANISM               one mechanism (default all)
//	CAUCUS_DRAWS                   how often to draw (default 2000, of dirichlet 50, which takes long)
//	CAUCUS_SEED                    of the simulated noise (default 1)
func TestDistortion(t *testing.T) {
	counts := given(t, "CAUCUS_COUNTS", []int64{50, 50, 50, 50, 800},
		func(text string) (counts []int64, err error) {
			for part := range strings.SplitSeq(text, ",") {
				n, e := strconv.ParseInt(part, 10, 64)
				counts, err = append(counts, n), cmp.Or(err, e)
			}
			return counts, err
		})
	budget := privacy.Budget{Epsilon: given(t, "CAUCUS_EPSILON", .05, numberOf),
		Delta: given(t, "CAUCUS_DELTA", .05, numberOf)}
	draws, seed := given(t, "CAUCUS_DRAWS", 0, strconv.Atoi), given(t, "CAUCUS_SEED", 1,
		strconv.Atoi)
	names := privacy.CountMechanisms()
	if one := os.Getenv("CAUCUS_MECHANISM"); one != "" {
		names = []string{one}
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join([]string{"mechanism", "sampler", "mean L1", "±", "deviation",
		"draws", "expected", "parameters", "released"}, "\t"))
	for _, name := range names {
		some := 2000
		if name == "dirichlet" {
			some = 50
		}
		d, err := distortionOf(t.Context(), name, counts, budget, cmp.Or(draws, some), uint64(seed))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintln(w, strings.Join(d.row(name, counts), "\t"))
	}
	w.Flush()
	t.Logf("counts %v, ε = %g, δ = %g for each label\n%s", counts, budget.Epsilon, budget.Delta,
		&out)
}

// TestDistortionIsThatOfNoise: no noise moves nothing, more ε moves less, the same seed gives
// the same, and what agents refuse is known to be for simulation only.
func TestDistortionIsThatOfNoise(t *testing.T) {
	counts, draws := []int64{50, 50, 50, 50, 800}, 40
	at := func(mechanism string, epsilon float64) distortion {
		t.Helper()
		d, err := distortionOf(t.Context(), mechanism, counts,
			privacy.Budget{Epsilon: epsilon, Delta: 0.05}, draws, 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := at("none", 1); d.mean != 0 || d.sd != 0 {
		t.Errorf("no noise: %+v", d)
	}
	for _, name := range []string{"none", "laplace-paper", "dirichlet-paper"} {
		if d := at(name, 1); d.releasable(5) || whyNotReleased[d.mechanism.Name()] == "" {
			t.Errorf("%s may be released, or nothing says why not", name)
		}
	}
	if d := at("dirichlet-paper", 1); !strings.Contains(strings.Join(d.row("", counts), " "),
		"sigma of these counts ") {
		t.Errorf("as published: %v", d.row("", counts))
	}
	for _, mechanism := range []string{"laplace", "gaussian", "gaussian-zcdp", "dirichlet",
		"laplace-prior", "auto"} {
		little, much := at(mechanism, 0.05), at(mechanism, 5)
		if !(little.mean > 2*much.mean) || !little.releasable(5) {
			t.Errorf("%s: ε = 0.05 moves %g, ε = 5 %g", mechanism, little.mean, much.mean)
		}
		if again := at(mechanism, 0.05); again.mean != little.mean {
			t.Errorf("%s: the same seed moves %g, then %g", mechanism, little.mean, again.mean)
		}
	}
	for name, c := range map[string]struct {
		counts    []int64
		mechanism string
		epsilon   float64
	}{
		"below 0":     {[]int64{5, -1}, "laplace", 1},
		"too many":    {[]int64{5, 1<<40 + 1}, "laplace", 1},
		"one class":   {[]int64{5}, "laplace", 1},
		"nobody":      {[]int64{0, 0}, "laplace", 1},
		"no ε":        {counts, "laplace", 0},
		"unknown one": {counts, "wishes", 1},
	} {
		if _, err := distortionOf(t.Context(), c.mechanism, c.counts,
			privacy.Budget{Epsilon: c.epsilon, Delta: 0.05}, 1, 1); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}
