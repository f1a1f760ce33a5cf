package labels

import (
	"cmp"
	"encoding/binary"
	"slices"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// Proof note.
//   - Neighbours: replace one label, in a file of any order. Public: plan, features, number of
//     records.
//   - Lemma: one label is one coordinate of the vector of labels (Cells = 1). Features, number of
//     records and order of records do not depend on labels: the order, which gives each label its
//     coordinate, follows from keys of the records without labels (Lemma 3 of keyed).
//   - Numeric model: classes are integers and the randomised response is exact
//     (privacy.RandomisedResponse). Nothing is computed from labels before the response.
//   - The caller guarantees that the features may be shown (an agent's policy grants the columns)
//     and do not contain the label in another form.
type Kind struct{}

// Terms are the terms that only labels plans have.
type Terms struct {
	Loss       string `json:"loss" yaml:"loss" default:"logistic" help:"what is minimised: logistic, hinge, squared, savage, sigmoid, ramp, unhinged or barrier-hinge"`
	Risk       string `json:"risk" yaml:"risk" default:"accuracy" help:"which risk: accuracy, ber or auc"`
	Correction string `json:"correction" yaml:"correction" help:"how the fit allows for the noise: none, backward or forward. Default: none for a symmetric loss and two classes, else backward"`
	MaxRecords int    `json:"max_records" yaml:"max_records" default:"20000" help:"most records that one party sends; of more, a part chosen by keys"`
}

// DefaultTerms minimise the backward-corrected logistic loss, which was the best in simulations at
// ε ≤ 1. The correction is exact and keeps the loss convex.
func DefaultTerms() Terms {
	return Terms{Loss: "logistic", Risk: aggregation.RiskAccuracy,
		Correction: aggregation.CorrectionBackward, MaxRecords: 20_000}
}

// MaxRecordsLimit bounds MaxRecords, so that a body stays below a gigabyte.
const MaxRecordsLimit = 1 << 20

// DefaultCorrection is none for two classes and a symmetric loss, which needs no correction, else
// backward.
func DefaultCorrection(loss string, classes int) string {
	if l, err := learners.FindLoss(loss); err == nil && l.Symmetric() && classes == 2 {
		return aggregation.CorrectionNone
	}
	return aggregation.CorrectionBackward
}

// Mechanisms are rr, which keeps one of K labels with probability e^ε/(e^ε+K−1), and em, which
// equals rr at ε/2, as published.
func Mechanisms() []string { return []string{"rr", "em"} }

// Mechanisms lists rr and em, none of them for simulation only.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared returns nil, because contributions are not added up.
func (Kind) Shared() []string { return nil }

// Check demands unit label, noise at the site, and a loss, risk and correction that fit together at
// this ε.
func (Kind) Check(p study.Plan) error {
	if !slices.Contains(Mechanisms(), p.Mechanism) {
		return study.PlanError("mechanism", "%q is not one of labels': %v", p.Mechanism,
			Mechanisms())
	}
	if p.Unit != privacy.Label {
		return study.PlanError("unit", "a labels study shows features and hides only labels, so it cannot hide a %s: use unit label, or a kind of study that hides records", p.Unit)
	}
	if !p.Noise.AddedAtSite() {
		return study.PlanError("noise", "labels leave a party only through its own ledger: use noise site")
	}
	var t Terms
	if p.KindTerms == nil {
		return study.PlanError("kind_terms", "say which loss, risk and correction")
	}
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	if n := t.MaxRecords; n < 1 || n > MaxRecordsLimit {
		return study.PlanError("labels", "max_records is %d: give the most records one party sends, 1 to %d", n, MaxRecordsLimit)
	}
	m, err := responseOf(p)
	if err != nil {
		return study.PlanError("epsilon", "%v", err)
	}
	o, err := optionsOf(p, m)
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		return study.PlanError("labels", "%v", err)
	}
	return nil
}

// Complete chooses unit label, rr at the site, δ = 0, and the correction that the loss needs.
func (Kind) Complete(p *study.Plan, s study.Proposal) error {
	t, full := Terms{}, DefaultTerms()
	if err := s.DecodeTerms(&t); err != nil {
		return err
	}
	if s.KindTerms != nil {
		full.Loss, full.Risk = cmp.Or(t.Loss, full.Loss), cmp.Or(t.Risk, full.Risk)
		full.Correction = cmp.Or(t.Correction,
			DefaultCorrection(full.Loss, len(p.Schema.Label.Classes)))
		full.MaxRecords = cmp.Or(t.MaxRecords, full.MaxRecords)
	}
	p.Unit, p.Mechanism, p.Noise = cmp.Or(p.Unit, privacy.Label), cmp.Or(p.Mechanism,
		"rr"), cmp.Or(p.Noise, study.NoiseSite)
	p.Delta = 0 // a pure ε has δ = 0
	return p.SetTerms(full)
}

// Terms returns a zero *Terms, into which a study file or plan is read.
func (Kind) Terms() any { return new(Terms) }

func responseOf(p study.Plan) (privacy.RandomisedResponse, error) {
	if p.Mechanism == "em" {
		return privacy.CalibrateExponential(len(p.Schema.Label.Classes), p.Epsilon)
	}
	return privacy.CalibrateResponse(len(p.Schema.Label.Classes), p.Epsilon)
}

func optionsOf(p study.Plan, m privacy.RandomisedResponse) (aggregation.LabelOptions, error) {
	t := study.TermsOf[Terms](p)
	loss, err := learners.FindLoss(t.Loss)
	return aggregation.LabelOptions{
		Channel: learners.LabelChannel{Keep: m.KeepProbability(), Classes: m.Classes},
		Loss:    loss, Risk: t.Risk, Correction: t.Correction, Lambda: p.Lambda,
	}, err
}

// FitOptions returns the options of a checked plan's fit.
func FitOptions(p study.Plan) (aggregation.LabelOptions, error) {
	m, err := responseOf(p)
	if err != nil {
		return aggregation.LabelOptions{}, err
	}
	return optionsOf(p, m)
}

// releaseTerms are the terms of every party's release of labels. A record's number is its class, 0
// to K−1, or K if it has no label. So one label moves its number by at most K.
func releaseTerms(p study.Plan) (study.ReleaseTerms, error) {
	k := int64(len(p.Schema.Label.Classes))
	m, err := responseOf(p)
	return study.ReleaseTerms{
		Output:    "labels",
		Bound:     privacy.Bound{Unit: privacy.Label, L1: k, L2sq: k * k, Cells: 1},
		Mechanism: m,
	}, err
}

// Words say that features leave in clear, record by record, and that only labels have noise.
func (Kind) Words(p study.Plan) study.Words {
	return study.Words{
		DataSent:          "the mapped features of every record, in clear, beside its label; only the label is privatised, by this site, before anything leaves",
		ExactDataReceived: "features", Trained: study.NothingTrained, InClear: p.Schema.FeatureColumns(), Neighbours: study.NeighbourText(p),
		NotProtected: []string{
			"features from the coordinator: those of each record leave its party in clear, after the plan's map; the guarantee is for labels",
			"features from readers of the release: its classifier is fitted to them without noise",
		},
		LiarText: study.LiesInRecords,
	}
}

// Task is the task of a labels study. It keeps contributions one by one (study.BodyKeeper), because
// every later fit needs each record.
type Task struct {
	study.TaskBase
	terms    study.ReleaseTerms
	released bodies.PartyReleases
	most     int // largest number of records of a contribution
}

// New makes a Task.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	t, err := releaseTerms(p)
	if err != nil {
		return nil, err
	}
	released, err := bodies.NewPartyReleases(p, t)
	return Task{study.NewTaskBase(Kind{}, p, pool), t, released,
		study.TermsOf[Terms](p).MaxRecords}, err
}

// Contribute sends features in clear and asks the ledger for the noisy labels of at most the plan's
// number of records.
func (t Task) Contribute(in study.Inputs) (study.Contribution, error) {
	p, terms := t.Plan(), t.terms
	records := in.Records.Select(keyed.NewRecords(keyed.SelectionRule{Study: t.Hash(),
		Unit: p.Unit},
		in.Records,
		in.ShardKey()).SendingOrder(t.most))
	n := records.Len()
	head := binary.AppendUvarint(nil, uint64(n))
	if n == 0 {
		return study.Contribution{Body: func([]privacy.Published) ([]byte, error) {
			return head, nil
		}}, nil
	}
	// Clip: two bodies must not share bytes
	head = slices.Clip(bodies.AppendFeatures(head, p.MapRecords(records)))
	values := make([]int64, n)
	for i, y := range records.Y {
		values[i] = int64(y)
		if y < 0 || y >= int(terms.Bound.L1) {
			values[i] = terms.Bound.L1 // K stands for no label
		}
	}
	s, err := privacy.NewSensitive(values, terms.Bound)
	if err != nil {
		return study.Contribution{}, err
	}
	return study.Contribution{
		Requests: []study.Request{{Output: terms.Output, Sensitive: s, Mechanism: terms.Mechanism}},
		Body:     func(r []privacy.Published) ([]byte, error) { return t.released.Append(head, r[0]) },
	}, nil
}

// MaxBody adds up the number of records, two bytes for each feature, and the released labels.
func (t Task) MaxBody() int {
	return binary.MaxVarintLen64 + 2*t.most*t.Pool().Dim() + bodies.PublishedSize(t.most)
}

// Charges is one label's cost: each label is released once, by its own response.
func (t Task) Charges(int64) ([]study.Charge, error) {
	cost, err := privacy.CostOf(t.terms.Mechanism, t.terms.Bound)
	if err != nil {
		return nil, err
	}
	return []study.Charge{t.terms.Charge(cost, cost)}, nil
}

// Reservations names the labels of the records that will be sent; none for no records.
func (t Task) Reservations(records int) ([]study.Reservation, error) {
	n := min(records, t.most)
	if n < 1 {
		return nil, nil
	}
	return t.terms.Reserve(n), nil
}

// Work is the common work and that of encoding the features.
func (t Task) Work(records int) (study.Work, error) {
	return study.Work{OtherSteps: t.CommonWork(records) +
		float64(records)*float64(t.Plan().Map.Dim())*16}, nil
}
