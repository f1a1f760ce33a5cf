package study

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/learners"
	"caucus/privacy"
)

// labels is the kind of study that trains a classifier robust to label noise
// (Bi & Suppakitpaisarn 2022): a party sends its records' mapped features in
// clear, if its policy grants the columns, with labels that it privatised
// through its own ledger. It hides each label; it hides no feature.
//
// Proof note.
//   - Neighbours: replace one label, in a file of any order. Public: plan, features
//     and the number of records.
//   - Lemma: one label is one coordinate of the vector of labels (Cells = 1). What
//     a party sends beside it, the features and how many records there are, does
//     not depend on labels; nor does the order of the records, which is one of
//     keys of what they hold beside their labels. It names coordinates: Lemma 3
//     of keyed.
//   - Numeric model: classes are integers and the response is exact; see
//     privacy.RandomisedResponse. Nothing is computed from labels before it.
//   - The caller guarantees that the features may be shown (an agent's policy
//     grants the columns) and do not hold the label in another form.
type labels struct{}

// LabelTerms are what a labels plan says beyond the common.
type LabelTerms struct {
	// Loss, Risk and Correction say what is minimised and how it allows for
	// the noise: see learners.LossNames and aggregation.LabelOptions.
	Loss       string `json:"loss" yaml:"loss"`
	Risk       string `json:"risk" yaml:"risk"`
	Correction string `json:"correction" yaml:"correction"`
	// MaxRecords is the most records that one party sends; of more, a part
	// chosen by keys of what they hold beside their labels.
	MaxRecords int `json:"max_records" yaml:"max_records"`
}

// DefaultLabelTerms minimise the backward-corrected logistic loss, the best of
// all in simulations at ε ≤ 1. Its correction is exact, and keeps it convex.
func DefaultLabelTerms() LabelTerms {
	return LabelTerms{Loss: "logistic", Risk: aggregation.RiskAccuracy, Correction: aggregation.CorrectionBackward, MaxRecords: 20_000}
}

// maxLabelRecords bounds MaxRecords, so that a body stays below a gigabyte.
const maxLabelRecords = 1 << 20

// DefaultCorrection is none where a loss is robust to the noise by itself, a
// symmetric one between two classes, and backward otherwise.
func DefaultCorrection(loss string, classes int) string {
	if l, err := learners.LossNamed(loss); err == nil && l.Symmetric() && classes == 2 {
		return aggregation.CorrectionNone
	}
	return aggregation.CorrectionBackward
}

// LabelMechanisms are the names of the kind's mechanisms: rr keeps a label with
// probability e^ε/(e^ε+K−1); em, as published, is rr at ε/2.
func LabelMechanisms() []string { return []string{"rr", "em"} }

func (labels) Check(p Plan) error {
	if !slices.Contains(LabelMechanisms(), p.Mechanism) {
		return planError("mechanism", "%q is not one of labels': %v", p.Mechanism, LabelMechanisms())
	}
	if p.Unit != privacy.Label {
		return planError("unit", "a labels study shows features and hides only labels, so it cannot hide a %s: use unit label, or a classify study", p.Unit)
	}
	if p.Noise != NoiseSite {
		return planError("noise", "labels leave a party only through its own ledger: use noise site")
	}
	if p.Labels == nil {
		return planError("labels", "say which loss, risk and correction")
	}
	if n := p.Labels.MaxRecords; n < 1 || n > maxLabelRecords {
		return planError("labels", "max_records is %d: give the most records one party sends, 1 to %d", n, maxLabelRecords)
	}
	if p.Shards > 1 {
		return planError("shards", "a labels study trains nothing at the parties: leave shards out")
	}
	m, err := labelResponse(p)
	if err != nil {
		return planError("epsilon", "%v", err)
	}
	o, err := labelOptions(p, m)
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		return planError("labels", "%v", err)
	}
	return nil
}

// labelResponse is the plan's mechanism.
func labelResponse(p Plan) (privacy.RandomisedResponse, error) {
	if p.Mechanism == "em" {
		return privacy.CalibrateExponential(len(p.Schema.Label.Classes), p.Epsilon)
	}
	return privacy.CalibrateResponse(len(p.Schema.Label.Classes), p.Epsilon)
}

func labelOptions(p Plan, m privacy.RandomisedResponse) (aggregation.LabelOptions, error) {
	loss, err := learners.LossNamed(p.Labels.Loss)
	return aggregation.LabelOptions{
		Channel: learners.Channel{Keep: m.KeepProbability(), Classes: m.Classes},
		Loss:    loss, Risk: p.Labels.Risk, Correction: p.Labels.Correction, Lambda: p.Lambda,
	}, err
}

// labelTerms are what every party releases its labels under. A class is 0 to
// K−1 and K stands for none, so one label moves its coordinate by K at most.
func labelTerms(p Plan) (terms, error) {
	k := int64(len(p.Schema.Label.Classes))
	m, err := labelResponse(p)
	return terms{
		Output:    "labels",
		Bound:     privacy.Bound{Unit: privacy.Label, L1: k, L2sq: k * k, Cells: 1},
		Mechanism: m,
	}, err
}

func (labels) Words(p Plan) Words {
	return Words{
		Leaves:   "the mapped features of every record, in clear, beside its label; only the label is privatised, by this site, before anything leaves",
		Received: "features", Trained: nothingTrained, InClear: p.Schema.FeatureColumns(), Neighbours: oneUnit(p),
		NotProtected: []string{
			"features from the coordinator: those of each record leave its party in clear, after the plan's map; the guarantee is for labels",
			"features from readers of the release: its classifier is fitted to them without noise",
		},
		Liar: liesInRecords,
	}
}

// labelTask is a labels plan with what its parties release under.
type labelTask struct {
	agreed
	terms terms
}

func (labels) New(p Plan, pool *auxdata.Pool) (Task, error) {
	t, err := labelTerms(p)
	return labelTask{agree(p, pool), t}, err
}

func (l labelTask) Draft(in Inputs) (Draft, error) {
	p, t := l.plan, l.terms
	records := in.Records.Select(nameRecords(p, l.hash, in.Records, in.ShardKey).sending(p.Labels.MaxRecords))
	n := records.Len()
	head := binary.AppendUvarint(nil, uint64(n))
	if n == 0 {
		return Draft{Body: func([]privacy.Published) ([]byte, error) { return head, nil }}, nil
	}
	head = appendFeatures(head, mapped(p, records))
	values := make([]int64, n)
	for i, y := range records.Y {
		values[i] = int64(y)
		if y < 0 || y >= int(t.Bound.L1) {
			values[i] = t.Bound.L1 // no label
		}
	}
	s, err := privacy.NewSensitive(values, t.Bound)
	if err != nil {
		return Draft{}, err
	}
	return Draft{
		Asks: []Ask{{Output: t.Output, Sensitive: s, Mechanism: t.Mechanism}},
		Body: func(r []privacy.Published) ([]byte, error) {
			if r[0].Simulated {
				return appendVector(append(head, 0), r[0].Values), nil
			}
			b, err := r[0].MarshalBinary()
			if err != nil {
				return nil, fmt.Errorf("encode contribution: %w", err)
			}
			return append(head, b...), nil
		},
	}, nil
}

// featureUnit is how features travel: in units of 2⁻¹⁵, two bytes each. Their
// magnitude is below 1.
const featureUnit = 1 << 15

func appendFeatures(b []byte, x *mat.Dense) []byte {
	n, d := x.Dims()
	for i := range n {
		for _, v := range x.RawRowView(i)[:d] {
			v = math.Max(-featureUnit, math.Min(featureUnit-1, math.Round(v*featureUnit)))
			b = binary.BigEndian.AppendUint16(b, uint16(int16(v)))
		}
	}
	return b
}

func (l labelTask) NewSum() (Sum, error) {
	kept, err := keepBodies(l.plan, l.terms)
	return &labelSum{keptBodies: kept, dim: l.pool.Dim(), classes: len(l.plan.Schema.Label.Classes)}, err
}

// MaxBody: two bytes a feature, at most two a label, and the head of a
// publication.
func (l labelTask) MaxBody() int { return l.plan.Labels.MaxRecords*(2*l.pool.Dim()+2) + 4096 }

func (l labelTask) Charges(int64) ([]Charge, error) {
	cost, err := privacy.CostOf(l.terms.Mechanism, l.terms.Bound)
	if err != nil {
		return nil, err
	}
	return []Charge{l.terms.charge(cost, cost)}, nil
}

// Reservations: a number for each record that is sent.
func (l labelTask) Reservations(records int) ([]Reservation, error) {
	n := min(records, l.plan.Labels.MaxRecords)
	if n < 1 {
		return nil, nil
	}
	return l.terms.reserve(n), nil
}

// forecastNoise is what the responses leave on the moments of the records'
// unbiased labels: a variance a record, spread over the pool's rows.
func (l labelTask) forecastNoise(size Size) (aggregation.Noise, func(*mat.Dense) *mat.Dense, error) {
	p, pool, t := l.plan, l.pool, l.terms
	records := max(min(size.Records, size.Parties*p.Labels.MaxRecords), 1)
	rows := make([]float64, pool.Rows())
	for i := range rows {
		rows[i] = privacy.VarianceOf(t.Mechanism, t.Bound, 0, 1) * float64(len(rows)) / float64(records)
	}
	return aggregation.TallyNoise(pool.X, pool.Weight, rows, len(p.Schema.Label.Classes)), nil, nil
}

// LabelResult is what a labels study says beside the classifier.
type LabelResult struct {
	Records    int     `json:"records"`
	Keep       float64 `json:"keep"` // probability that a label is as it was
	Loss       string  `json:"loss"`
	Risk       string  `json:"risk"`
	Correction string  `json:"correction"`
	// Shares are the classes' shares of the true labels.
	Shares aggregation.LabelShares `json:"shares"`
	// Path is the search for the ridge. Its held-out risks are corrected for the
	// noise, but for AUC's, which are those of the noisy labels.
	Path []aggregation.LabelPoint `json:"path,omitempty"`
}

// Held is the held-out risk at the ridge that was chosen, the classifier's
// Lambda; false where the plan gave it, so that nothing was held out.
func (r LabelResult) Held(lambda float64) (float64, bool) {
	i := slices.IndexFunc(r.Path, func(p aggregation.LabelPoint) bool { return p.Lambda == lambda })
	if i < 0 {
		return 0, false
	}
	return r.Path[i].Held, true
}

// HeldError bounds the standard error of the held-out accuracy of N records:
// each tells ([noisy label = prediction] − q)/(p − q), whose variance is at most
// 1/(4(p−q)²).
func (r LabelResult) HeldError(classes int) float64 {
	q := learners.Channel{Keep: r.Keep, Classes: classes}.Flip()
	return 1 / (2 * (r.Keep - q) * math.Sqrt(float64(r.Records)))
}

func (l labelTask) Finish(_ int, sum Sum, _ []privacy.Published) (Result, error) {
	p := l.plan
	s, ok := sum.(*labelSum)
	if !ok {
		return Result{}, fmt.Errorf("finish labels: unknown sum %T", sum)
	}
	x, y, err := s.records()
	if err != nil {
		return Result{}, err
	}
	if len(y) == 0 {
		return Result{}, fmt.Errorf("finish labels: no records were contributed")
	}
	response, err := labelResponse(p)
	if err != nil {
		return Result{}, err
	}
	o, err := labelOptions(p, response)
	if err != nil {
		return Result{}, err
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0x6c6162656c73)) // public: folds and pairs
	fit, err := aggregation.FitLabels(x, y, o, rng)
	if err != nil {
		return Result{}, err
	}
	r := classifierResult(p, aggregation.Fit{Model: fit.Model, Lambda: fit.Lambda})
	r.Labels = &LabelResult{
		Records: len(y), Keep: o.Channel.Keep, Loss: p.Labels.Loss, Risk: p.Labels.Risk, Correction: p.Labels.Correction,
		Shares: aggregation.DebiasedShares(y, o.Channel), Path: fit.Path,
	}
	r.Warnings = append(r.Warnings, labelWarnings(p, o, r.Labels, fit.Lambda)...)
	return r, nil
}

// labelWarnings say what the noise leaves unknown. All of it is public.
func labelWarnings(p Plan, o aggregation.LabelOptions, r *LabelResult, lambda float64) []string {
	var out []string
	if k := len(p.Schema.Label.Classes); o.Loss.Unbalanced(k) && o.Risk == aggregation.RiskAccuracy {
		out = append(out, fmt.Sprintf("loss %s cannot tell one of %d classes from the more numerous rest under risk accuracy: use risk ber or auc, or another loss", o.Loss.Name(), k))
	}
	for k, share := range r.Shares.Share {
		if share < 2*r.Shares.Error[k] {
			out = append(out, fmt.Sprintf("class %q may have no records at all: its share is %.3f ± %.3f", p.Schema.Label.Classes[k], share, r.Shares.Error[k]))
		}
	}
	majority, at := 0.0, 0
	for k, share := range r.Shares.Projected {
		if share > majority {
			majority, at = share, k
		}
	}
	held, ok := r.Held(lambda)
	if o.Risk != aggregation.RiskAccuracy || !ok {
		return out
	}
	if 1-held < majority+2*r.Shares.Error[at] {
		out = append(out, fmt.Sprintf("with %d records and a label kept with probability %.3f, the classifier's estimated accuracy, %.3f, is not clearly above the largest class's share, %.3f ± %.3f: use more records or a larger ε",
			r.Records, r.Keep, 1-held, majority, r.Shares.Error[at]))
	}
	return out
}
