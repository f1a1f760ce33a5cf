package kinds

import (
	"fmt"
	"maps"
	"slices"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/keyed"
	"caucus/study/labels"
	"caucus/study/ratio"
	"caucus/study/regress"
	"caucus/study/reweigh"
	"caucus/study/survival"
)

var kinds = map[string]study.Kind{
	"classify": classify.Kind{},
	"describe": describe.Kind{},
	"evaluate": evaluate.Kind{},
	"labels":   labels.Kind{},
	"ratio":    ratio.Kind{},
	"regress":  regress.Kind{},
	"reweigh":  reweigh.Kind{},
	"survival": survival.Kind{},
}

// TwoServerKinds lists the kinds and mechanisms that allow study.NoiseAggregators.
func TwoServerKinds() (names, mechanisms []string) {
	for _, name := range Names() {
		if shared := kinds[name].Shared(); shared != nil {
			names, mechanisms = append(names, name), append(mechanisms, shared...)
		}
	}
	slices.Sort(mechanisms)
	return names, slices.Compact(mechanisms)
}

// Default is the kind of a proposal that does not name its kind.
const Default = "classify"

// Names lists the kinds that this version knows, sorted. Plans of other kinds are refused as a
// whole.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// Mechanisms lists the mechanisms of all kinds, without duplicates.
func Mechanisms() []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.Mechanisms()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// FindKind finds a kind, or returns a Refusal of the plan's field kind that lists all.
func FindKind(name string) (study.Kind, error) {
	k, ok := kinds[name]
	if !ok {
		return nil, study.PlanError("kind", "%q is not a kind of study this version knows; it knows %v", name, Names())
	}
	return k, nil
}

// SelectionRuleOf returns a checked plan's rule for assigning records to shards and sets.
func SelectionRuleOf(p study.Plan) keyed.SelectionRule {
	canonical, err := p.Canonical()
	if err != nil {
		panic(err)
	}
	w := Explain(p)
	return keyed.SelectionRule{Study: study.HashOf(canonical), Unit: p.Unit, Shards: w.Shards,
		SetColumn: w.SetColumn}
}

// RecordSchema returns the schema that encodes a checked plan's records: the plan's, with the party
// column only if that names the sets, and with missing cells marked if the kind counts them. A plan
// without a kind, which reads a source alone, does neither.
func RecordSchema(p study.Plan) dataset.Schema {
	s, w := p.Schema, study.Words{}
	if kind, err := FindKind(p.Kind); err == nil {
		w = kind.Words(p)
	}
	if s.MarkMissing = w.CountsMissing; !w.SetColumn {
		s.Party = ""
	}
	return s
}

// NewTask makes a checked plan's task. It refuses a pool of another digest than the plan's, by
// study.ErrContribution.
func NewTask(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	kind, err := FindKind(p.Kind)
	if err != nil {
		return nil, err
	}
	if pool.Digest != p.Pool {
		return nil, fmt.Errorf("%w: the plan is about pool %s, this is pool %s",
			study.ErrContribution, p.Pool, pool.Digest)
	}
	return kind.New(p, pool)
}

// ReadTask makes the task of a checked plan on the canonical bytes of its pool.
func ReadTask(p study.Plan, canonical []byte) (study.Task, error) {
	table, err := auxdata.ReadCSV(canonical, p.Pool)
	if err != nil {
		return nil, err
	}
	pool, _, err := auxdata.New(p.Schema, p.Map, table)
	if err != nil {
		return nil, err
	}
	return NewTask(p, pool)
}

// Check refuses a plan that is incomplete or contradictory, or whose guarantee has no proof.
func Check(p study.Plan) error {
	kind, err := FindKind(p.Kind)
	if err != nil {
		return err
	}
	if err := p.CheckCommon(); err != nil {
		return err
	}
	if p.Noise.Shared() && kind.Shared() == nil {
		names, _ := TwoServerKinds()
		return study.PlanError("noise", "nothing is proved of a share of what a %s study sends: %q takes %v", p.Kind, p.Noise, names)
	}
	if p.ChargeByL2 && !ChargesByL2(p) {
		return study.PlanError("rho_by_l2", "no part of a %s study's noise by %q is charged by L2: leave it out", p.Kind, p.Mechanism)
	}
	if err := kind.Check(p); err != nil || p.PerPatient == 0 {
		return err
	}
	// a column of sets would have to be equal in all records of two patients; shards of whole
	// patients need no number of records
	if w := kind.Words(p); w.SetColumn || w.Trained != study.NothingTrained {
		return study.PlanError("per_patient", "%d: it is for counts and sums, and %q trains at the sites, or a column names sets: leave it out", p.PerPatient, p.Mechanism)
	}
	return nil
}

// ChargesByL2 says whether the plan's noise is pure and comes from Plan.Calibrate. The noise of
// mechanism output does not come from there, because that noise depends on the number of ballots.
func ChargesByL2(p study.Plan) bool {
	pure := p.Delta == 0 || p.Mechanism == study.MechanismLaplace || p.Mechanism == "moment"
	return pure && p.Kind != "labels" && p.Kind != "ratio" && p.Mechanism != "output"
}

// ParsePlan reads canonical bytes and refuses a plan that Check refuses.
func ParsePlan(canonical []byte) (study.Plan, error) {
	p, err := study.DecodePlan(canonical)
	if err != nil {
		return study.Plan{}, err
	}
	return p, Check(p)
}

// PlanOf returns a release's plan after checking it.
func PlanOf(r study.Release) (study.Plan, error) {
	p, err := r.DecodedPlan()
	if err != nil {
		return study.Plan{}, err
	}
	return p, Check(p)
}

// ClaimedPlan returns a release's plan after checking that the release is of this program's form
// (study.ManifestForm) and of the plan's kind. Who reads its result calls results.CheckedPlan.
func ClaimedPlan(r study.Release) (study.Plan, error) {
	if err := r.CheckForm(); err != nil {
		return study.Plan{}, fmt.Errorf("read release: %w", err)
	}
	p, err := PlanOf(r)
	if err != nil {
		return study.Plan{}, err
	}
	if r.Kind != p.Kind {
		return study.Plan{}, fmt.Errorf("read release: it is said to be of kind %q, its plan is of kind %q: it was changed", r.Kind, p.Kind)
	}
	return p, nil
}

// Explain explains a checked plan. It panics for an unknown kind, which no checked plan has.
func Explain(p study.Plan) study.Words {
	kind, err := FindKind(p.Kind)
	if err != nil {
		panic(err)
	}
	return kind.Words(p).AtUnit(p)
}

// MissingText says of a checked plan that it does not count missing cells, and what stands for
// those of each column; "" if it counts them. It follows from the plan alone.
func MissingText(p study.Plan) string {
	if Explain(p).CountsMissing {
		return ""
	}
	words := p.Schema.FilledText(func(string) bool { return true })
	if words == "" {
		return ""
	}
	return "missing cells are not counted. In their place stand: " + words
}

// UnderRemoval calls study.UnderRemoval for the plan's kind.
func UnderRemoval(p study.Plan, costs []study.ReleaseCost) (epsilon float64, why string) {
	kind, err := FindKind(p.Kind)
	if err != nil {
		return 0, err.Error()
	}
	return study.UnderRemoval(kind, p, costs)
}
