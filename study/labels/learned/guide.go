package learned

import (
	"fmt"
	"math"

	"caucus/privacy"
)

// LabelGuide says how many labels a study needs, privatised by rr (randomised response) or by em
// (the exponential mechanism as published, which equals rr at ε/2 and spends ε/2).
type LabelGuide struct {
	Labels     int     `json:"n"`
	Epsilon    float64 `json:"epsilon"`
	Classes    int     `json:"classes"`
	Mechanisms []Worth `json:"mechanisms"`
	// Table gives the number of labels needed at each ε in the paper (Bi & Suppakitpaisarn 2022).
	Table []LabelsNeeded `json:"table"`
}

// Worth describes how much the guide's labels are worth under one mechanism.
type Worth struct {
	Mechanism    string  `json:"mechanism"`
	SpentEpsilon float64 `json:"epsilon_spent"`
	Keep         float64 `json:"keep"`
	// MajorityKept is the probability that at least half of the labels are kept.
	MajorityKept float64 `json:"most_kept"`
	// ShareError is the largest standard error of a class's debiased share.
	ShareError float64 `json:"share_error"`
}

// Labels holds the smallest odd numbers of labels for which MajorityKept reaches each of
// MajorityLevels; 0 if none does.
type LabelsNeeded struct {
	Mechanism string  `json:"mechanism"`
	Epsilon   float64 `json:"epsilon"`
	Keep      float64 `json:"keep"`
	Labels    []int   `json:"needed"`
}

// MajorityLevels are probabilities that most labels stay as they are, and guideEpsilons are values
// of ε, both from Bi & Suppakitpaisarn (2022).
func MajorityLevels() []float64 { return []float64{0.95, 0.99, 0.999} }

const mostGuided = 100_000_000

func guideEpsilons() []float64 { return []float64{0.1, 0.2, 0.5, 1, 2, 5} }

// NewLabelGuide makes the guide for n labels, 1 to 100,000,000, of the given number of classes.
func NewLabelGuide(n, classes int, epsilon float64) (LabelGuide, error) {
	g := LabelGuide{Labels: n, Epsilon: epsilon, Classes: classes}
	if n < 1 || n > mostGuided {
		return g, fmt.Errorf("guide to labels: %d labels: give 1 to %d", n, mostGuided)
	}
	for _, name := range []string{"em", "rr"} {
		m, err := calibrated(name, classes, epsilon)
		if err != nil {
			return g, err
		}
		b := privacy.Bound{Unit: privacy.Label, L1: 1, Cells: 1}
		cost, err := privacy.CostOf(m, b)
		if err != nil {
			return g, err
		}
		w := Worth{Mechanism: name, Keep: m.KeepProbability(),
			MajorityKept: MajorityKept(n, m.KeepProbability())}
		w.SpentEpsilon, _ = cost.Pure.Float64()
		w.ShareError = math.Sqrt(privacy.VarianceOf(m, b, 0, 1) / float64(n))
		g.Mechanisms = append(g.Mechanisms, w)
		for _, e := range guideEpsilons() {
			if m, err = calibrated(name, classes, e); err != nil {
				return g, err
			}
			row := LabelsNeeded{Mechanism: name, Epsilon: e, Keep: m.KeepProbability()}
			for _, level := range MajorityLevels() {
				row.Labels = append(row.Labels, LabelsFor(row.Keep, level))
			}
			g.Table = append(g.Table, row)
		}
	}
	return g, nil
}

func calibrated(mechanism string, classes int, epsilon float64) (privacy.RandomisedResponse,
	error) {
	if mechanism == "em" {
		return privacy.CalibrateExponential(classes, epsilon)
	}
	return privacy.CalibrateResponse(classes, epsilon)
}
