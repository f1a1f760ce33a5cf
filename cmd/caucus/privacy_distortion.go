package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"caucus/aggregation"
	"caucus/privacy"
)

// distortion is the JSON document of privacy distortion.
type distortion struct {
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

// whyNotReleased says what is wrong with the mechanisms that only simulations
// may use.
var whyNotReleased = map[string]string{
	"laplace-paper":   "real-valued noise in floating point has no proof: neighbouring counts can be told apart by its last bits; use laplace",
	"dirichlet-paper": "its σ depends on the private counts, so it is not (ε,δ)-private: with counts 50,50,50,50,800 and ε = δ = .05 its true δ is above .06; use dirichlet",
	"none":            "it adds no noise",
}

func newPrivacyDistortion(c *console) *cobra.Command {
	var counts []int64
	var mechanism string
	var budget privacy.Budget
	var draws int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "distortion",
		Short: "How far a count mechanism moves the class shares of a set",
		Long: `Release the class counts of one set many times through a simulation ledger,
project each answer onto shares, and say how far they are from the true shares
on average (L1). The guarantee hides one label of the set.`,
		Example: `  caucus privacy distortion --counts 50,50,50,50,800 --mechanism gaussian --epsilon 0.05 --delta 0.05
  caucus privacy distortion --counts 50,50,50,50,800 --mechanism auto --epsilon 1 --delta 1e-6 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			total := int64(0)
			for _, n := range counts {
				if n < 0 || n > 1<<40 {
					return usagef("--counts: %d is no count, give 0 to 2^40", n)
				}
				total += n
			}
			if len(counts) < 2 || total < 1 {
				return usagef("--counts needs the counts of at least two classes, such as 50,50,50,50,800")
			}
			if draws < 1 {
				return usagef("--draws %d: give at least 1", draws)
			}
			terms := privacy.CountTerms{Unit: privacy.Label, Classes: len(counts), Total: total, Budget: budget}
			m, err := privacy.CalibrateCounts(mechanism, terms)
			if err != nil {
				return usageError{err}
			}
			c.warnDelta(budget.Delta, int(total))
			doc := distortion{
				Mechanism: mechanism, Sampler: m.Name(), Parameters: privacy.ParametersOf(m), Counts: counts,
				Epsilon: budget.Epsilon, Delta: budget.Delta, Draws: draws, Why: whyNotReleased[mechanism],
			}
			doc.Releasable = doc.Why == ""
			if e := privacy.ExpectedCountError(m, terms) * float64(len(counts)); !math.IsInf(e, 1) {
				doc.Expected = &e
			}
			if p, ok := m.(privacy.DirichletPaper); ok {
				shown := make([]float64, len(counts))
				for j, n := range counts {
					shown[j] = float64(n)
				}
				doc.Parameters["sigma of these counts"] = fmt.Sprintf("%.4g", p.SigmaFor(shown))
			}
			s, err := privacy.NewSensitive(counts, privacy.CountBound(privacy.Label, len(counts)))
			if err != nil {
				return err
			}
			ledger := privacy.Simulation(seed)
			square := 0.
			for i := range draws {
				p, err := ledger.Release(cmd.Context(), fmt.Sprint(i), s, m)
				if err != nil {
					return err
				}
				estimate, err := privacy.EstimateCounts(p, []int64{total})
				if err != nil {
					return err
				}
				l1 := 0.
				for j, v := range aggregation.ProjectSimplex(estimate[0].Counts, float64(total)) {
					l1 += math.Abs(v-float64(counts[j])) / float64(total)
				}
				doc.MeanL1 += l1 / float64(draws)
				square += l1 * l1 / float64(draws)
			}
			doc.SD = math.Sqrt(max(0, square-doc.MeanL1*doc.MeanL1))
			doc.StandardError = doc.SD / math.Sqrt(float64(draws))
			doc.Seconds = time.Since(start).Seconds()
			return c.print(doc, func(w io.Writer) error {
				fmt.Fprintf(w, "%s: mean L1 %.4f ± %.4f over %d draws (standard deviation %.4f)\n", doc.Mechanism, doc.MeanL1, doc.StandardError, doc.Draws, doc.SD)
				fmt.Fprintf(w, "ε = %g, δ = %g for each label; sampler %s", doc.Epsilon, doc.Delta, doc.Sampler)
				for _, k := range slices.Sorted(maps.Keys(doc.Parameters)) {
					fmt.Fprintf(w, ", %s %s", k, doc.Parameters[k])
				}
				_, err := fmt.Fprintln(w)
				if err == nil && !doc.Releasable {
					_, err = fmt.Fprintf(w, "simulation only: %s\n", doc.Why)
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.Int64SliceVar(&counts, "counts", nil, "class counts of a set")
	f.StringVar(&mechanism, "mechanism", "auto", strings.Join(privacy.CountMechanisms(), ", "))
	f.Float64Var(&budget.Epsilon, "epsilon", 1, "privacy budget ε")
	f.Float64Var(&budget.Delta, "delta", 1e-6, "privacy budget δ")
	f.IntVar(&draws, "draws", 2000, "how often to draw")
	f.Uint64Var(&seed, "seed", 1, "seed of the simulated noise")
	return cmd
}
