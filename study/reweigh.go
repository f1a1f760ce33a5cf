package study

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// reweigh is the kind of study that weighs the rows of the public pool so that
// the pool stands for the private records (Ji & Elkan 2013). Its unit is the
// record; each site adds its own noise unless the plan says otherwise.
type reweigh struct{}

// ReweighTerms are the terms of a reweigh plan.
type ReweighTerms struct {
	// Pairs are pairs of columns whose joint margins are released beside the
	// features; each costs as much as a feature.
	Pairs [][2]string `json:"pairs,omitempty" yaml:"pairs"`
	// Bins, at least 2, also releases a histogram of each number.
	Bins int `json:"bins,omitempty" yaml:"bins"`
	// Keep is the least share of the pool's rows that stays effective, where λ
	// is chosen after the release; 0 is keepWeights.
	Keep float64 `json:"keep,omitempty" yaml:"keep"`
	// PerParty is the most records that one party adds; of more, a part chosen
	// by keys. With it a guarantee for a record counts that often for a party, if
	// neighbours have as many. 0: unknown, and then the study guarantees nothing for
	// a whole party.
	PerParty int64 `json:"per_party,omitempty" yaml:"per_party"`
}

const (
	// keepWeights: a public and a private population may differ so much that
	// few rows matter; 1 in 50 is where weights have in effect collapsed.
	keepWeights = 0.02
	// logisticLambda is the ridge of logistic where a plan names none: that of
	// Ji & Elkan's experiments.
	logisticLambda = 0.1
	// fewRows: an effective sample below this answers any query to ±.05 at best.
	fewRows = 100
)

// reweighMechanisms says of each mechanism whether it is for simulation only.
var reweighMechanisms = map[string]bool{"entropy": false, "logistic": false, "logistic-paper": true}

// ReweighMechanisms are the names of reweigh's mechanisms.
func ReweighMechanisms() []string { return slices.Sorted(maps.Keys(reweighMechanisms)) }

func (reweigh) Check(p Plan) error {
	simulation, ok := reweighMechanisms[p.Mechanism]
	t := p.reweighTerms()
	switch {
	case !ok:
		return planError("mechanism", "%q is not one of reweigh's: %v", p.Mechanism, ReweighMechanisms())
	case simulation && !p.Simulated:
		return planError("mechanism", "%q draws its noise in floating point, whose last bits can tell records apart; no proof covers it, so it can only be simulated: use entropy or logistic", p.Mechanism)
	case p.Unit != privacy.Record && p.Unit != privacy.Label:
		return planError("unit", "reweigh cannot hide a %s: its bounds are for one record. Use unit record; with reweigh.per_party it also counts that many times ε for a party", p.Unit)
	case p.Mechanism != "entropy" && p.Delta != 0:
		return planError("delta", "%v: mechanism %q is pure ε, so set delta to 0", p.Delta, p.Mechanism)
	case p.Shards > 1:
		return planError("shards", "%d: reweigh trains nothing at a site, so set shards to 1", p.Shards)
	case !(t.Keep >= 0 && t.Keep < 1):
		return planError("reweigh.keep", "%v is not a share of the pool's rows: give a number from 0 to below 1", t.Keep)
	case t.PerParty < 0 || t.PerParty > 1<<40:
		return planError("reweigh.per_party", "%d: give the most records a party holds, or 0 if that is not public", t.PerParty)
	}
	if p.Mechanism == "logistic" {
		if err := checkSolved(p); err != nil {
			return err
		}
	}
	_, err := designOf(p)
	return err
}

func (p Plan) reweighTerms() ReweighTerms {
	if p.Reweigh == nil {
		return ReweighTerms{}
	}
	return *p.Reweigh
}

// designOf is the design of a plan's sums: of the encoded features, or of the
// map's where the plan projects them.
func designOf(p Plan) (*aggregation.FeatureDesign, error) {
	t := p.reweighTerms()
	if p.Map.Kind != dataset.IdentityMap {
		if len(t.Pairs) > 0 || t.Bins > 0 {
			return nil, planError("reweigh", "pairs and bins are of the schema's features: leave them out, or do not project the features")
		}
		if err := p.Map.Validate(); err != nil {
			return nil, planError("map", "%v", err)
		}
		return aggregation.MappedDesign(p.Map.Dim()), nil
	}
	d, err := aggregation.NewFeatureDesign(p.Schema, aggregation.FeatureTerms{Pairs: t.Pairs, Bins: t.Bins})
	if err != nil {
		return nil, planError("reweigh", "%v", err)
	}
	return d, nil
}

// weigh is the question of a reweigh plan: sums of features for entropy, n·β of
// a density-ratio model for logistic. Both are integers that add over sites.
//
// Proof note.
//   - Neighbours: replace one record. Public: plan, pool, and how many records
//     each site has.
//   - Lemma: aggregation.FeatureDesign for entropy, aggregation.DensityRatio for
//     logistic; terms adds the rounding to its lattice.
//   - Numeric model: for entropy each record's entries are integers of their own,
//     and sums are exact. For logistic the solver works in floating point to a
//     gradient norm that bounds its distance from the exact minimiser; the bound
//     includes that distance and the rounding. A search that fails, which exact
//     arithmetic excludes, gives zeros.
//   - The caller guarantees that records are encoded by the plan's schema, which
//     clamps them, and that one party is behind a site. Of more records than a
//     per-party number names, a site adds only so many (local), and no more are
//     taken from it (maxWeight).
type weigh struct {
	plan   Plan
	pool   *auxdata.Pool
	design *aggregation.FeatureDesign
	// rows are the pool's rows as the design takes them.
	rows *mat.Dense
	// ratio is the model of logistic and logistic-paper.
	ratio *aggregation.DensityRatio
}

func weighOf(p Plan, pool *auxdata.Pool) (*weigh, error) {
	if pool.Weight != nil {
		return nil, planError("pool", "it has weights already: reweigh the pool they were attached to")
	}
	d, err := designOf(p)
	if err != nil {
		return nil, err
	}
	w := &weigh{plan: p, pool: pool, design: d, rows: pool.Encoded}
	if p.Map.Kind != dataset.IdentityMap {
		w.rows = pool.X
	}
	if p.Mechanism != "entropy" {
		w.ratio = &aggregation.DensityRatio{Design: d, Lambda: w.lambda(), Pool: w.rows}
	}
	return w, nil
}

func (w *weigh) lambda() float64 {
	if w.plan.Lambda == 0 && w.plan.Mechanism != "entropy" {
		return logisticLambda
	}
	return w.plan.Lambda
}

func (w *weigh) cells() int {
	if w.ratio != nil {
		return w.ratio.Dim()
	}
	return w.design.Cells()
}

func (w *weigh) releasedCells() int { return w.cells() }

// maxWeight bounds a site's records, as for cross sums, and by what the plan says
// a party holds: what it guarantees for a whole party rests on that number.
func (w *weigh) maxWeight() int64 {
	most := 1 << 40 / w.plan.sites()
	if k := w.plan.reweighTerms().PerParty; k > 0 {
		most = min(most, k)
	}
	return most
}

// lattice is the width of logistic's public lattice of n·β: 2^k near the
// sensitivity over 2²⁰. It does not depend on n, so sites' vectors add.
func (w *weigh) lattice() float64 {
	return math.Exp2(math.Round(math.Log2(w.ratio.Sensitivity())) - 20)
}

// maxCoefficient bounds |n·β| on the lattice, so that no number of sites can make
// the sum wrap. Honest fits are far below; clamping moves no two vectors apart.
func (w *weigh) maxCoefficient() int64 { return 1 << 59 / w.plan.sites() }

func (w *weigh) local(in Inputs) ([]int64, int64) {
	records := in.Records
	if most := w.maxWeight(); int64(records.Len()) > most {
		// A part chosen without looking at them, so that no more of a party's
		// records count than the plan says.
		records = records.Select(nameRecords(w.plan, in.study, records, in.ShardKey).cut(int(most)))
	}
	n := int64(records.Len())
	if n == 0 {
		return make([]int64, w.cells()), 0
	}
	x := records.X
	if w.plan.Map.Kind != dataset.IdentityMap {
		x = mapped(w.plan, records)
	}
	if w.ratio == nil {
		return w.design.Sums(x), n
	}
	z := make([]int64, w.cells())
	gamma, most := w.lattice(), float64(w.maxCoefficient())
	for j, v := range w.ratio.Fit(x) {
		z[j] = int64(math.Round(math.Max(-most, math.Min(v/gamma, most))))
	}
	return z, n
}

func (w *weigh) appendClear(vector []int64, records int64) ([]byte, error) {
	// Fixed width: the length of exact sums would tell their size.
	return appendFixed(binary.AppendVarint(nil, records), vector), nil
}

func (w *weigh) parseClear(body []byte) ([]int64, int64, error) {
	records, rest, err := cutVarint(body)
	if err != nil {
		return nil, 0, err
	}
	if records < 0 || records > w.maxWeight() {
		return nil, 0, fmt.Errorf("read feature sums: %d records, at most %d are allowed", records, w.maxWeight())
	}
	v, err := parseFixed(rest, w.cells())
	if err != nil {
		return nil, 0, err
	}
	for j, x := range v {
		if w.ratio == nil && !w.design.InRange(x, records) {
			return nil, 0, fmt.Errorf("read feature sums: sum %d is larger than its records allow", j)
		}
		if most := w.maxCoefficient(); w.ratio != nil && (x > most || x < -most) {
			return nil, 0, fmt.Errorf("read coefficients: number %d is out of range", j)
		}
	}
	return v, records, nil
}

// terms do not depend on the number of records, so they are the same at every
// site.
//
//   - entropy: FeatureDesign's bound, under discrete Laplace or K-norm (δ = 0) or
//     Gaussian noise.
//   - logistic: DensityRatio's sensitivity Δ on a lattice of width γ; rounding
//     adds at most ½ to each of d coordinates of both vectors, so Δ₂ = Δ/γ + √d
//     and Δ₁ = √d·Δ₂.
//   - logistic-paper: density ∝ exp(−(nλε/√d)‖δ‖) on β, so exp(−(λε/√d)‖δ‖) on
//     n·β.
func (w *weigh) terms(int64) (terms, error) {
	t := terms{Output: w.plan.Mechanism, Bound: privacy.Bound{Unit: w.plan.Unit, PerParty: w.plan.reweighTerms().PerParty}}
	var err error
	d := math.Sqrt(float64(w.cells()))
	switch w.plan.Mechanism {
	case "logistic-paper":
		t.Bound = privacy.Bound{Unit: w.plan.Unit}
		t.Mechanism = privacy.SphereLaplace{Rate: w.lambda() * w.plan.Epsilon / d * w.lattice()}
		return t, nil
	case "logistic":
		moves := (w.ratio.Sensitivity()/w.lattice() + d) * (1 + 1e-9)
		t.Bound.L1, t.Bound.L2sq = int64(math.Ceil(d*moves)), squared(int64(math.Ceil(moves)))
	default:
		t.Bound.L1, t.Bound.L2sq = w.design.L1, w.design.L2sq
	}
	if w.plan.Delta == 0 {
		t.Mechanism, err = privacy.CalibratePure(t.Bound, w.cells(), w.plan.Epsilon)
	} else {
		t.Mechanism, err = privacy.CalibrateGaussian(t.Bound, w.plan.Budget())
	}
	return t, err
}

func (w *weigh) sensitive(vector []int64, _ int64, t terms) (privacy.Sensitive, error) {
	if w.plan.Mechanism != "logistic-paper" {
		return privacy.NewSensitive(vector, t.Bound)
	}
	reals := make([]float64, len(vector))
	for j, v := range vector {
		reals[j] = float64(v)
	}
	return privacy.NewLiteral(reals, w.plan.Unit), nil
}

// noise: a forecast of accuracy is not what weights are for.
func (w *weigh) noise(float64, int) (aggregation.Noise, error) {
	return aggregation.Noise{}, errNoForecast
}

func (reweigh) Words(p Plan) Words {
	w := Words{
		Leaves: "sums over this site's records of the schema's features, and the declared number of records", Received: "sums over its records",
		Trained: nothingTrained, Neighbours: oneUnit(p), Liar: liesInRecords,
	}
	if p.Mechanism != "entropy" {
		w.Leaves = "the coefficients of a model that tells this site's records from the public pool's, times the declared number of records, and that number"
		w.Received = "coefficients of a model that tells its records from the public pool's, times their number"
		w.Trained = "a logistic model that tells this site's records from the public pool's"
	}
	w.Leaves += p.addedNoise()
	if p.Unit == privacy.Label {
		w.NotProtected = []string{"features: the guarantee is for labels"}
	}
	if p.Noise == NoiseSite {
		w.Liar = liesInNoise
	}
	return w
}

// reweighTask asks weigh.
type reweighTask struct{ summed }

func (reweigh) New(p Plan, pool *auxdata.Pool) (Task, error) {
	w, err := weighOf(p, pool)
	return reweighTask{summed{agree(p, pool), w, 0x77656967687473}}, err
}

// Charges are those of summed; a literal sampler, which only simulation may use,
// claims nothing.
func (t reweighTask) Charges(weight int64) ([]Charge, error) {
	all, err := t.summed.Charges(weight)
	if !errors.Is(err, privacy.ErrSimulationOnly) || !t.plan.Simulated {
		return all, err
	}
	terms, err := t.question.terms(1)
	none := privacy.Cost{Unit: t.plan.Unit}
	return []Charge{terms.charge(none, none)}, err
}
