package classify

import (
	"math"
	"math/rand/v2"

	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

// Terms are the terms that only classify plans have. Zero values mean the defaults.
type Terms struct {
	Bound       string    `json:"bound,omitempty" yaml:"bound" default:"tight" help:"sensitivity bound of mechanism output: tight or paper"`
	Shards      int       `json:"shards" yaml:"shards" default:"1" help:"classifiers that a party trains on disjoint shards of its patients"`
	Learner     string    `json:"learner,omitempty" yaml:"learner" default:"softmax" help:"what parties train, such as softmax, cart, forest or knn; any: each party chooses, even a program of its own (unit party only)"`
	Tilt        bool      `json:"tilt,omitempty" yaml:"tilt" help:"tilt the pool where a cross release shows that it differs"`
	ClassShares []float64 `json:"class_shares,omitempty" yaml:"class_shares" help:"the classes' publicly known shares, in the schema's order, as .73,.27: a forecast uses them, and a release if noise hides the true ones. Default of a forecast: .75,.25 for two classes, else equal"`
}

// TermsOf reads the terms of a checked plan. Those of other plans come back incomplete, without an
// error.
func TermsOf(p study.Plan) (t Terms) {
	_ = p.DecodeTerms(&t)
	return t
}

func termsError(field, format string, args ...any) error {
	return study.PlanError("classify."+field, format, args...)
}

func (t Terms) check(p study.Plan, m mechanism) error {
	most := maxBallots / p.MostParties()
	switch {
	case t.Shards < 1:
		return termsError("shards", "%d: 1 is one classifier a party", t.Shards)
	case int64(t.Shards) > most:
		return termsError("shards", "%d: at most %d are possible with this roster", t.Shards, most)
	case t.Shards > 1 && p.Unit == privacy.Party:
		return termsError("shards", "a whole party moves all of its %d shards, so shards buy nothing at party level: use unit record, or shards 1", t.Shards)
	case t.Shards > 1 && p.Mechanism == "cross":
		return termsError("shards", "mechanism %q trains no classifiers on shards: use shards 1", p.Mechanism)
	case t.Bound != "" && t.Bound != "tight" && t.Bound != "paper":
		return termsError("bound", "%q: want tight or paper", t.Bound)
	case t.Learner == learners.AnyClassifier:
		if err := t.checkOwn(p, m); err != nil {
			return err
		}
	case t.Learner != "":
		if _, err := learners.NewOrRandom(t.Learner, rand.New(rand.NewPCG(0, 0))); err != nil {
			return termsError("learner", "%v, or %s, at unit party, where each party chooses", err, learners.AnyClassifier)
		}
	}
	return t.checkShares(len(p.Schema.Classes()))
}

func (t Terms) checkShares(classes int) error {
	if t.ClassShares == nil {
		return nil
	}
	if have := len(t.ClassShares); have != classes {
		return termsError("class_shares", "have %d, want %d: one for each class, in the schema's order", have, classes)
	}
	total := 0.
	for _, s := range t.ClassShares {
		if !(s > 0 && s < 1) {
			return termsError("class_shares", "%v: each class has a share above 0 and below 1", s)
		}
		total += s
	}
	if math.Abs(total-1) > .01 {
		return termsError("class_shares", "they add up to %.4g, not to 1", total)
	}
	return nil
}
