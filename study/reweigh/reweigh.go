package reweigh

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/shares"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// Kind is the study kind reweigh. The unit is the record. By default each site adds the noise.
type Kind struct{}

// Terms are the terms that only reweigh plans have.
type Terms struct {
	Pairs             [][2]string `json:"pairs,omitempty" yaml:"pairs" help:"pairs of columns whose joint margins are released too, such as [[age, sex]]; each costs as much as a feature"`
	Bins              int         `json:"bins,omitempty" yaml:"bins" help:"also release a histogram of each number, with this number of bins"`
	MinEffectiveShare float64     `json:"keep,omitempty" yaml:"keep" default:"0.02" help:"least share of the pool's rows that stays effective, where λ is chosen after the release"`
	PerParty          int64       `json:"per_party,omitempty" yaml:"per_party" help:"most records (at unit patient: patients) that one party adds; of more, a part chosen by keys. 0: unknown, and then nothing is guaranteed for a whole party"`
}

const (
	// DefaultKeep is the default of Terms.MinEffectiveShare. With fewer than 1 effective row in 50,
	// public and private population differ too much for useful weights.
	DefaultKeep = 0.02
	// logisticLambda is the default ridge of mechanism logistic, from Ji & Elkan's experiments.
	logisticLambda = 0.1
	// FewEffectiveRows is the effective sample size below which answers may have a standard error
	// above .05.
	FewEffectiveRows = 100
)

var mechanisms = map[string]bool{"entropy": false, "logistic": false, "logistic-paper": true}

// Mechanisms lists entropy, logistic and logistic-paper; the last is for simulation only.
func Mechanisms() []string { return slices.Sorted(maps.Keys(mechanisms)) }

// Mechanisms includes logistic-paper, which only a simulation may use.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared returns entropy, because the range of its sums follows from the number of records, so that
// a party can prove that its sums are in the range.
func (Kind) Shared() []string { return []string{"entropy"} }

// Check demands unit record or label, δ = 0 but for entropy, and entropy for secret shares and for
// conditions.
func (Kind) Check(p study.Plan) error {
	simulation, ok := mechanisms[p.Mechanism]
	var t Terms
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	switch {
	case !ok:
		return study.PlanError("mechanism", "%q is not one of reweigh's: %v", p.Mechanism,
			Mechanisms())
	case simulation && !p.Simulated:
		return study.PlanError("mechanism", "%q draws its noise in floating point, whose last bits can tell records apart; no proof covers it, so it can only be simulated: use entropy or logistic", p.Mechanism)
	case p.Unit == privacy.Patient && p.Mechanism != "entropy":
		return study.PlanError("unit", "mechanism %q is proven for records, not for unit patient: use entropy", p.Mechanism)
	case !study.ByRecord(p.Unit) && p.Unit != privacy.Label:
		return study.PlanError("unit", "reweigh cannot hide a %s: its bounds are for one record. Use unit record; with reweigh.per_party it also counts that many times ε for a party", p.Unit)
	case p.Mechanism != "entropy" && p.Delta != 0:
		return study.PlanError("delta", "%v: mechanism %q is pure ε, so set delta to 0", p.Delta,
			p.Mechanism)
	case p.Noise.Shared() && p.Mechanism != "entropy":
		return study.PlanError("noise", "nothing useful is proved of a share of what mechanism %q sends, whose numbers have no range that records give: use entropy with aggregators", p.Mechanism)
	case p.Mechanism != "entropy" && p.Where != "":
		return study.PlanError("where", "%q: mechanism %q divides by the number of a site's records, and of how many a condition holds is not known there, so its ridge would draw the weights of a rare group towards none: use entropy, which releases that number with noise", p.Where, p.Mechanism)
	case !(t.MinEffectiveShare >= 0 && t.MinEffectiveShare < 1):
		return study.PlanError("reweigh.keep", "%v is not a share of the pool's rows: give a number from 0 to below 1", t.MinEffectiveShare)
	case t.PerParty < 0 || t.PerParty > 1<<40:
		return study.PlanError("reweigh.per_party", "%d: give the most records a party holds, or 0 if that is not public", t.PerParty)
	}
	if p.Mechanism == "logistic" {
		if err := bodies.CheckSolvedRidge(p); err != nil {
			return err
		}
	}
	_, err := DesignOf(p)
	return err
}

// Terms returns a zero *Terms, into which a study file or plan is read.
func (Kind) Terms() any { return new(Terms) }

// Complete chooses unit record and mechanism entropy, and δ = 0 unless the proposal gives a δ.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	p.Unit, p.Mechanism = cmp.Or(p.Unit, privacy.Record), cmp.Or(p.Mechanism, "entropy")
	p.Noise = cmp.Or(p.Noise, study.DefaultNoise(p.Unit))
	p.Delta = 0 // a pure ε has δ = 0
	var t Terms
	if err := s.DecodeTerms(&t); err != nil || s.KindTerms == nil {
		return err
	}
	return p.SetTerms(t)
}

// DesignOf makes the design of a plan's sums: of encoded features or, if it projects them, mapped
// ones.
func DesignOf(p study.Plan) (*aggregation.FeatureDesign, error) {
	t := study.TermsOf[Terms](p)
	if p.Map.Kind != dataset.IdentityMap {
		if len(t.Pairs) > 0 || t.Bins > 0 {
			return nil, study.PlanError("reweigh", "pairs and bins are of the schema's features: leave them out, or do not project the features")
		}
		if err := p.Map.Validate(); err != nil {
			return nil, study.PlanError("map", "%v", err)
		}
		return aggregation.MappedDesign(p.Map.Dim()), nil
	}
	d, err := aggregation.NewFeatureDesign(p.Schema,
		aggregation.FeatureTerms{Pairs: t.Pairs, Bins: t.Bins})
	if err != nil {
		return nil, study.PlanError("reweigh", "%v", err)
	}
	return d, nil
}

// Statistic is the vector of integers that a reweigh plan adds up over sites. For entropy, these
// are sums of features and, under a condition, the number of records that meet it. For logistic,
// they are n·β, where n is the site's number of records and β the coefficients of its density-ratio
// model.
//
// Proof note.
//   - Neighbours: replace one record. Public: plan, pool, and each site's number of records.
//   - Lemma: aggregation.FeatureDesign for entropy, aggregation.DensityRatio for logistic; Terms
//     adds the rounding to its lattice. Under a condition, the vector has the sums over the records
//     that meet it, and their number: FeatureDesign.SumsWithCountBound. Whether a record meets the
//     condition follows from the record's cells and the plan (dataset.Records.FailsCondition).
//   - Numeric model: for entropy each record adds integers that follow from that record alone, and
//     sums are exact. For logistic the solver works in floating point to a gradient norm that
//     bounds its distance from the exact minimiser; the bound includes that distance and the
//     rounding. A failed search, impossible in exact arithmetic, gives zeros.
//   - The caller guarantees that records are encoded by the plan's schema, which clamps them, and
//     that one party is behind a site. A site adds at most the per-party number of records (Local),
//     and a larger weight is refused (Weights).
type Statistic struct {
	Plan   study.Plan
	terms  Terms
	Pool   *auxdata.Pool
	Design *aggregation.FeatureDesign
	// Rows holds the pool's rows in the design's form.
	Rows *mat.Dense
	// Ratio is the model of logistic and logistic-paper.
	Ratio *aggregation.DensityRatio
}

// NewStatistic makes the statistic of a plan that Kind.Check passes. It refuses a pool with
// weights.
func NewStatistic(p study.Plan, pool *auxdata.Pool) (*Statistic, error) {
	if pool.Weight != nil {
		return nil, study.PlanError("pool", "it has weights already: reweigh the pool they were attached to")
	}
	d, err := DesignOf(p)
	if err != nil {
		return nil, err
	}
	w := &Statistic{Plan: p, terms: study.TermsOf[Terms](p), Pool: pool, Design: d,
		Rows: pool.Encoded}
	if p.Map.Kind != dataset.IdentityMap {
		w.Rows = pool.X
	}
	if p.Mechanism != "entropy" {
		w.Ratio = &aggregation.DensityRatio{Design: d, Lambda: w.Lambda(), Pool: w.Rows}
	}
	return w, nil
}

// Lambda returns the ridge that the plan names, or mechanism logistic's default; 0 if readers
// choose.
func (s *Statistic) Lambda() float64 {
	if s.Plan.Lambda == 0 && s.Plan.Mechanism != "entropy" {
		return logisticLambda
	}
	return s.Plan.Lambda
}

// Cells is the number of sums or coefficients, with one more that counts records under a condition.
func (s *Statistic) Cells() int {
	if s.Ratio != nil {
		return s.Ratio.Coefficients()
	}
	if s.Counted() {
		return s.Design.Cells() + 1
	}
	return s.Design.Cells()
}

// Counted reports whether the last number counts the records that meet the plan's condition.
func (s *Statistic) Counted() bool { return s.Plan.Where != "" }

// ReleasedCells is Cells: all are released.
func (s *Statistic) ReleasedCells() int { return s.Cells() }

// Weights bound a site's number of records so that the total cannot overflow, and by the plan's
// per-party number, on which the guarantee for a whole party relies.
func (s *Statistic) Weights() (least, most int64) {
	most = 1 << 40 / s.Plan.MostParties()
	if k := s.terms.PerParty; k > 0 {
		most = min(most, k)
	}
	return 0, most
}

// Lattice returns the spacing of logistic's public lattice for n·β: the power of two nearest to the
// sensitivity over 2²⁰. The spacing does not depend on n, so vectors of different sites can be
// added.
func (s *Statistic) Lattice() float64 {
	return math.Exp2(math.Round(math.Log2(s.Ratio.Sensitivity())) - 20)
}

// maxCoefficient bounds each |n·β| on the lattice, so that the sum over all sites cannot overflow.
// Honest fits are far below. Larger numbers are clamped, which moves no two vectors apart, so the
// bound on neighbours holds.
func (s *Statistic) maxCoefficient() int64 { return 1 << 59 / s.Plan.MostParties() }

// Additive is false for logistic, whose fit reads all records at once.
func (s *Statistic) Additive(records int64) bool {
	_, most := s.Weights()
	return s.Ratio == nil && records <= most
}

// Local returns the sums or coefficients of the records that count, and the number of records.
func (s *Statistic) Local(in study.Inputs) ([]int64, int64) {
	_, most := s.Weights()
	records := keyed.AtMostRecords(in, s.Plan.Unit, most)
	n := int64(records.Len())
	if n == 0 {
		return make([]int64, s.Cells()), 0
	}
	if s.Counted() {
		return s.Design.SumsWithCount(s.entries(about(records))), n
	}
	x := s.entries(records)
	if s.Ratio == nil {
		return s.Design.Sums(x), n
	}
	z := make([]int64, s.Cells())
	gamma, farthest := s.Lattice(), float64(s.maxCoefficient())
	for j, v := range s.Ratio.Fit(x) {
		z[j] = int64(math.Round(math.Max(-farthest, math.Min(v/gamma, farthest))))
	}
	return z, n
}

func (s *Statistic) entries(records *dataset.Records) *mat.Dense {
	if s.Plan.Map.Kind != dataset.IdentityMap {
		return s.Plan.MapRecords(records)
	}
	return records.X
}

func about(records *dataset.Records) *dataset.Records {
	var rows []int
	for i := range records.Len() {
		if !records.IsExcluded(i) {
			rows = append(rows, i)
		}
	}
	return records.Select(rows)
}

// AppendClear encodes a contribution that the coordinator sees.
func (s *Statistic) AppendClear(vector []int64, records int64) ([]byte, error) {
	return bodies.AppendSums(vector, records), nil
}

// ParseClear refuses numbers that no records of the declared number give.
func (s *Statistic) ParseClear(body []byte) ([]int64, int64, error) {
	v, records, err := bodies.ParseSums("feature sums", body, s)
	if err != nil {
		return nil, 0, err
	}
	of := records
	if s.Counted() {
		var ok bool
		if of, ok = s.Design.RecordCount(v[s.Design.Cells()], records); !ok {
			return nil, 0, fmt.Errorf("read feature sums: how many records the study is about is no number of %d records", records)
		}
	}
	for j, x := range v {
		if s.Ratio == nil && j < s.Design.Cells() && !s.Design.InRange(x, of) {
			return nil, 0, fmt.Errorf("read feature sums: sum %d is larger than its records allow", j)
		}
		if most := s.maxCoefficient(); s.Ratio != nil && (x > most || x < -most) {
			return nil, 0, fmt.Errorf("read coefficients: number %d is out of range", j)
		}
	}
	return v, records, nil
}

// Form is for entropy only, because Check refuses secret shares for logistic.
func (s *Statistic) Form(records int64) shares.VectorForm {
	return shares.IntegerForm(s.Cells(), aggregation.MaxFeatureSum(max(records, 1)))
}

// Terms ignores the number of records, so all sites have the same terms.
//
//   - entropy has FeatureDesign's bound (SumsWithCountBound with a condition), and discrete Laplace
//     or K-norm (δ = 0) or Gaussian noise.
//   - logistic has DensityRatio's sensitivity Δ, on a lattice of width γ. Rounding adds at most ½
//     to each of the d coordinates of both vectors, so the bounds are Δ/γ + √d in L2, and √d times
//     that in L1.
//   - logistic-paper has noise η of density ∝ exp(−(λε/√d)‖η‖) on n·β, because the paper has
//     exp(−(nλε/√d)‖η‖) on β.
func (s *Statistic) Terms(int64) (study.ReleaseTerms, error) {
	t := study.ReleaseTerms{Output: s.Plan.Mechanism,
		Bound: privacy.Bound{Unit: s.Plan.Unit, PerParty: s.terms.PerParty,
			PerPatient: s.Plan.PerPatient}}
	var err error
	d := math.Sqrt(float64(s.Cells()))
	switch s.Plan.Mechanism {
	case "logistic-paper":
		t.Bound = privacy.Bound{Unit: s.Plan.Unit}
		t.Mechanism = privacy.SphereLaplace{Rate: s.Lambda() * s.Plan.Epsilon / d * s.Lattice()}
		return t, nil
	case "logistic":
		moves := (s.Ratio.Sensitivity()/s.Lattice() + d) * (1 + 1e-9)
		t.Bound.L1, t.Bound.L2sq = int64(math.Ceil(d*moves)),
			study.SquareL2(int64(math.Ceil(moves)))
	default:
		t.Bound.L1, t.Bound.L2sq = s.Design.L1, s.Design.L2sq
		if s.Counted() {
			t.Bound.L1, t.Bound.L2sq = s.Design.SumsWithCountBound()
		}
	}
	t.Mechanism, err = s.Plan.Calibrate(t.Bound, s.Cells())
	return t, err
}

// Sensitive returns the vector under the bound of its terms.
func (s *Statistic) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	if s.Plan.Mechanism != "logistic-paper" {
		return privacy.NewSensitive(vector, t.Bound)
	}
	reals := make([]float64, len(vector))
	for j, v := range vector {
		reals[j] = float64(v)
	}
	return privacy.NewUnprovenVector(reals, s.Plan.Unit), nil
}

// Words say that sums over records leave, or a model that tells records from the pool's.
func (Kind) Words(p study.Plan) study.Words {
	w := study.Words{
		DataSent: "sums over this site's records of the schema's features, and the declared number of records", ExactDataReceived: "sums over its records",
		Trained: study.NothingTrained, Neighbours: study.NeighbourText(p), LiarText: p.Noise.Trust().LiarInRecords, PerParty: study.TermsOf[Terms](p).PerParty,
	}
	if p.Mechanism != "entropy" {
		w.DataSent = "the coefficients of a model that tells this site's records from the public pool's, times the declared number of records, and that number"
		w.ExactDataReceived = "coefficients of a model that tells its records from the public pool's, times their number"
		w.Trained = "a logistic model that tells this site's records from the public pool's"
	}
	if p.Where != "" {
		w.DataSent = "sums of the schema's features over those of this site's records that the study is about, and how many those are; and the declared number of records"
	}
	w.DataSent += p.Noise.Trust().LeavingText
	if p.Unit == privacy.Label {
		w.NotProtected = []string{"features: the guarantee is for labels"}
	}
	return w
}

// Task is a reweigh plan with its pool, which package weighed finishes.
type Task struct{ bodies.Task }

// New designs the sums from schema and terms, and computes the same features of the pool's rows,
// which the fit will tilt.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	w, err := NewStatistic(p, pool)
	return Task{bodies.Task{TaskBase: study.NewTaskBase(Kind{}, p, pool), Statistic: w,
		SearchSeed: 0x77656967687473}}, err
}

// Charges returns the charges of bodies.Task. logistic-paper, for simulations only, has no proof
// and no cost.
func (t Task) Charges(weight int64) ([]study.Charge, error) {
	all, err := t.Task.Charges(weight)
	if !errors.Is(err, privacy.ErrSimulationOnly) || !t.Plan().Simulated {
		return all, err
	}
	terms, err := t.Statistic.Terms(1)
	none := privacy.Cost{Unit: t.Plan().Unit}
	return []study.Charge{terms.Charge(none, none)}, err
}

// Work counts a pass over the records for sums, and the solver's steps for coefficients.
func (t Task) Work(records int) (study.Work, error) {
	n, rows, cells := float64(records), float64(t.Pool().Rows()),
		float64(t.Statistic.(*Statistic).Design.Cells()+1)
	w := study.Work{OtherSteps: t.CommonWork(records) + n*cells*16}
	if t.Plan().Mechanism == "logistic" {
		w.OtherSteps += 1000*((n+rows)*(4*cells+40)+80*cells+4*cells*cells) + (n+rows)*cells*cells +
			cells*cells*cells
	}
	return w, nil
}
