package ratio

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"caucus/aggregation/embedding"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// Kind learns the class ratios of unlabelled sets (Iyer, Nath & Sarawagi 2016): each party
// publishes one or more sets with privatised label counts and the sets' features in some form. The
// ratios of any other set follow.
//
// Proof note.
//   - Neighbours: replace one label (unit label) or one record (unit record, features:
//     noisy-embedding). Public: plan, a party's number of sets and records, and at unit label the
//     features and each record's set.
//   - Lemma: below, with embedding.IntegerBound.
//   - Numeric model: counts are integers; each row's embedding is rounded to integers by arithmetic
//     that reads no other row; the sums are exact.
//   - The caller guarantees that the column that names sets is public, and at unit label that the
//     features may be shown and do not contain the label in another form.
//
// Bound at unit label: neighbours differ in one label. Sets are disjoint, and membership, features
// and sizes do not depend on labels, so replacing a label lowers one count of one set by one and
// raises another by one (privacy.CountBound). If the plan has a condition, records that fail it
// leave their set after sets are made. Here a condition may read features only, which neighbours
// share, so neighbours share sets and sizes too. Such a plan may not send exact means, because its
// features must be some of those that a plan without the condition sends. A record without a label
// counts in a class that its key chooses, so sizes do not depend on this either. After a cut to
// MaxRecords, neighbours still differ in at most one label (keyed.Records, Lemma 2).
//
// Bound at unit record (features: noisy-embedding): neighbours differ in one record, which may be
// in any made set. If a column names sets, that column is public (an agent's policy must grant it)
// and equal for neighbours, because the number and sizes of sets leave without noise. A cut keeps
// the same number of records of each set for neighbours, with at most one record replaced. A row's
// embedding z consists of p pairs of integers, each pair of norm at most R (embedding.Lattice).
// Replacing a record by one with embedding z′ moves two counts by −1 and +1. The sums of embeddings
// move by ‖z−z′‖² ≤ 4R²p in squared L2 if both are in the same set, else by ‖z‖²+‖z′‖² ≤ 2R²p. With
// weight w on the counts, the weighted squared L2 is at most 2w + 4R²p.
type Kind struct{}

// Terms are the terms that only ratio plans have.
type Terms struct {
	Sets       string    `json:"sets" yaml:"sets" default:"party" help:"a party's sets: party (all its records are one), column (one for each value of the schema's party column) or made (each party makes a set a class; needs noisy-embedding)"`
	MaxSets    int       `json:"max_sets" yaml:"max_sets" help:"most sets of one party; of more, the last by name are taken together"`
	Skew       float64   `json:"skew,omitempty" yaml:"skew" help:"share of each class's records that go to its own made set, above 0 and at most 1; .5 to .7 is moderate"`
	Expected   []float64 `json:"expected,omitempty" yaml:"expected" help:"with made sets, the class shares that a party's records are publicly expected to have, with sum 1; made sets are then of about equal size. Default: alike"`
	Features   string    `json:"features" yaml:"features" default:"embedding" help:"what leaves beside the counts: clear, embedding, or noisy-embedding (which hides each record)"`
	Fourier    int       `json:"fourier" yaml:"fourier" help:"numbers of an embedding; 0 with clear features compares rows by the kernel itself, in simulations only"`
	Gamma      float64   `json:"gamma" yaml:"gamma" help:"width of the kernel exp(−gamma·distance²); 0: chosen"`
	Estimator  string    `json:"estimator" yaml:"estimator" default:"class-means" help:"class-means or mixture"`
	MaxRecords int       `json:"max_records" yaml:"max_records" help:"most records that one party uses; of more, a part chosen by keys"`
	SetSize    int       `json:"set_size" yaml:"set_size" help:"about how many records a set is publicly expected to have: tunes mechanisms, enters no proof"`
}

// Values of Terms.Sets and Terms.Features. Kind.Words says what each of them makes public.
const (
	SetsParty  = "party"
	SetsColumn = "column"
	SetsMade   = "made"

	FeaturesClear          = "clear"
	FeaturesEmbedding      = "embedding"
	FeaturesNoisyEmbedding = "noisy-embedding"
)

// DefaultTerms give each party one set, and an exact embedding of 2,000 numbers.
func DefaultTerms() Terms {
	return Terms{
		Sets: SetsParty, MaxSets: 64, Features: FeaturesEmbedding, Fourier: 2000,
		Estimator: embedding.EstimatorClassMeans, MaxRecords: 50_000, SetSize: 1000,
	}
}

const (
	maxSets     = 1 << 12
	maxFourier  = 1 << 15
	maxRecords  = 1 << 20
	maxNumbers  = 1 << 22 // most numbers in one party's release or exact embeddings
	maxClasses  = 1 << 10
	countsShare = 0.1 // share of the budget ρ that counts get; noisy embeddings get the rest
)

// Mechanisms are privacy.CountMechanisms; those without a proof are for simulation only.
func Mechanisms() []string { return privacy.CountMechanisms() }

// Mechanisms includes laplace-paper, dirichlet-paper and none, which only a simulation may use.
func (Kind) Mechanisms() []string { return Mechanisms() }

// Shared returns nil, because contributions are not added up.
func (Kind) Shared() []string { return nil }

var simulatedCounts = []string{"laplace-paper", "dirichlet-paper", "none"}

// Check demands unit label where features leave without noise, unit record for noisy embeddings,
// and noise at the site always.
func (Kind) Check(p study.Plan) error {
	var t Terms
	if p.KindTerms == nil {
		return study.PlanError("kind_terms", "say what the sets and their features are")
	}
	if err := p.DecodeTerms(&t); err != nil {
		return err
	}
	classes := len(p.Schema.Label.Classes)
	if !slices.Contains(Mechanisms(), p.Mechanism) {
		return study.PlanError("mechanism", "%q is not one of ratio's: %v", p.Mechanism,
			Mechanisms())
	}
	if slices.Contains(simulatedCounts, p.Mechanism) && !p.Simulated {
		return study.PlanError("mechanism", "no proof covers %q, so it can only be simulated: use laplace, gaussian, dirichlet or auto", p.Mechanism)
	}
	if !p.Noise.AddedAtSite() {
		return study.PlanError("noise", "label counts leave a party only through its own ledger: use noise site")
	}
	switch t.Features {
	case FeaturesClear, FeaturesEmbedding:
		if p.Unit != privacy.Label {
			return study.PlanError("unit", "features: %s leave without noise, so a ratio study hides labels only and not a %s: use unit label, or features %s", t.Features, p.Unit, FeaturesNoisyEmbedding)
		}
	case FeaturesNoisyEmbedding:
		if p.Unit != privacy.Record {
			return study.PlanError("unit", "noisy embeddings hide each record, and at unit %s that is not what the plan says: use unit record", p.Unit)
		}
		if p.Mechanism != "gaussian-zcdp" && p.Mechanism != "none" {
			return study.PlanError("mechanism", "noisy embeddings are released together with the counts by one Gaussian: use gaussian-zcdp")
		}
	default:
		return study.PlanError("features", "%q: want %s, %s or %s", t.Features, FeaturesClear,
			FeaturesEmbedding, FeaturesNoisyEmbedding)
	}
	if p.Where != "" && t.Features == FeaturesEmbedding {
		return study.PlanError("where", "%q: with features %s the mean of each set leaves without noise, and a condition may make a set of a single record: use features %s, which hide each record, or %s, which show them all in any case", p.Where, t.Features, FeaturesNoisyEmbedding, FeaturesClear)
	}
	switch t.Sets {
	case SetsParty:
	case SetsColumn:
		if p.Schema.Party == "" {
			return study.PlanError("sets", "a set a column value needs a party column in the schema: it names the set of each record")
		}
	case SetsMade:
		if t.Features != FeaturesNoisyEmbedding {
			return study.PlanError("sets", "who is in a set made from labels gives labels away, so what leaves about its features must hide each record: use features %s, or sets by column", FeaturesNoisyEmbedding)
		}
		if !(t.Skew > 0 && t.Skew <= 1) {
			return study.PlanError("skew", "%v: give the share of each class's records that go to its own set, above 0 and at most 1; about 0.5 to 0.7 is moderate", t.Skew)
		}
		if err := checkExpected(t.Expected, classes); err != nil {
			return err
		}
		if t.MaxSets < classes {
			return study.PlanError("max_sets", "%d: sets made from labels need one a class, %d",
				t.MaxSets, classes)
		}
	default:
		return study.PlanError("sets", "%q: want %s, %s or %s", t.Sets, SetsParty, SetsColumn,
			SetsMade)
	}
	switch {
	case classes > maxClasses:
		return study.PlanError("schema", "%d classes, at most %d are supported", classes,
			maxClasses)
	case t.MaxSets < 1 || t.MaxSets > maxSets:
		return study.PlanError("max_sets", "%d: give the most sets of one party, 1 to %d",
			t.MaxSets, maxSets)
	case t.MaxRecords < 1 || t.MaxRecords > maxRecords:
		return study.PlanError("max_records", "%d: give the most records one party uses, 1 to %d", t.MaxRecords, maxRecords)
	case t.SetSize < 1 || t.SetSize > maxRecords:
		return study.PlanError("set_size", "%d: give about how many records a set has, 1 to %d", t.SetSize, maxRecords)
	case t.Fourier == 0 && t.Features == FeaturesClear && !p.Simulated:
		return study.PlanError("fourier", "0: a model that compares rows themselves holds those of every party, and all readers of the release would have them; give the length of an embedding, 2,000 is usual")
	case t.Fourier == 0 && t.Features == FeaturesClear:
	case t.Fourier < 2 || t.Fourier%2 != 0 || t.Fourier > maxFourier:
		return study.PlanError("fourier", "%d: give the length of an embedding, an even number from 2 to %d; 2,000 is usual", t.Fourier, maxFourier)
	case t.Features != FeaturesClear && t.MaxSets*(t.Fourier+classes) > maxNumbers:
		return study.PlanError("fourier", "%d sets of %d numbers are too many for one contribution: lower max_sets or fourier", t.MaxSets, t.Fourier)
	}
	if t.Gamma < 0 || math.IsInf(t.Gamma, 0) || math.IsNaN(t.Gamma) ||
		(t.Gamma == 0 && t.Features != FeaturesClear) {
		return study.PlanError("gamma", "%v: embeddings need a kernel width, such as one over the median squared distance of the pool's rows", t.Gamma)
	}
	if !slices.Contains(embedding.Estimators(), t.Estimator) {
		return study.PlanError("estimator", "%q is not one of %v", t.Estimator,
			embedding.Estimators())
	}
	if _, err := designOf(p); err != nil {
		return study.PlanError("mechanism", "%v", err)
	}
	return nil
}

// Design is what a plan's terms give: sizes, bound and mechanism.
type Design struct {
	Terms Terms
	// sized reports whether a party also sends each set's exact number of records.
	sized bool
	study.ReleaseTerms
	Classes int
	// block is the number of released numbers of a set: a count for each class, then a noisy
	// embedding, if any.
	Block      int
	Fourier    embedding.Fourier
	lattice    embedding.Lattice
	Embeddings embedding.IntegerBound // bound of embeddings; zero without embeddings
}

// designOf makes the design of a plan. The bound of noisy embeddings has weights for MaxSets sets;
// boundFor limits it to the actual number of sets.
func designOf(p study.Plan) (Design, error) {
	t := study.TermsOf[Terms](p)
	d := Design{Terms: t, Classes: len(p.Schema.Label.Classes), lattice: embedding.DefaultLattice()}
	d.sized = t.sized(p)
	d.Block = d.Classes
	if t.Fourier > 0 {
		// γ = 1 until a width is chosen
		d.Fourier = embedding.Fourier{Dim: p.Map.Dim(), Features: t.Fourier,
			Gamma: cmp.Or(t.Gamma, 1), Seed: p.Seed}
		var err error
		if d.Embeddings, err = d.lattice.Bound(d.Fourier); err != nil {
			return d, err
		}
	}
	var err error
	d.Output = "counts"
	if t.Features != FeaturesNoisyEmbedding {
		d.Bound = privacy.CountBound(privacy.Label, d.Classes)
		d.Mechanism, err = privacy.CalibrateCounts(p.Mechanism, privacy.CountTerms{
			Unit: privacy.Label, Classes: d.Classes, Total: int64(t.SetSize), Budget: p.Budget(),
		})
		return d, err
	}
	d.Output = "sets"
	d.Block += t.Fourier
	// 2·weight is the part of the bound that comes from the counts.
	weight := int64(math.Ceil(countsShare / (1 - countsShare) * float64(d.Embeddings.L2sq) / 2))
	d.Bound = privacy.Bound{Unit: privacy.Record, PerPatient: p.PerPatient,
		L2sq: d.Embeddings.L2sq + 2*weight, Weight: []int64{weight, 1}}
	if p.Mechanism == "none" {
		d.Mechanism = privacy.Unperturbed{}
		return d, nil
	}
	d.Mechanism, err = privacy.CalibrateGaussian(d.Bound, p.Budget())
	return d, err
}

// sized reports whether the sets' sizes leave without noise. If features are hidden, the sizes do
// not leave for sets that are made from labels, nor under a condition.
func (t Terms) sized(p study.Plan) bool {
	return t.Features != FeaturesNoisyEmbedding || t.Sets != SetsMade && p.Where == ""
}

func (d Design) boundFor(sets int) privacy.Bound {
	b := d.Bound
	if b.Weight == nil {
		return b
	}
	b.Weight = make([]int64, 0, sets*d.Block)
	for range sets {
		for j := range d.Block {
			w := int64(1)
			if j < d.Classes {
				w = d.Bound.Weight[0]
			}
			b.Weight = append(b.Weight, w)
		}
	}
	return b
}

// Terms returns a zero *Terms, into which a study file or plan is read.
func (Kind) Terms() any { return new(Terms) }

// DealSets assigns a party's records to its sets, at least one. Sets are in the order of their
// names, rows in the order of their keys. Last, DealSets removes records that fail the plan's
// condition.
func DealSets(p study.Plan, in study.Inputs) (sets [][]int, classes []int) {
	t, records := study.TermsOf[Terms](p), in.Records
	named := keyed.NewRecords(keyed.SelectionRule{Study: in.Study, Unit: p.Unit,
		SetColumn: t.Sets == SetsColumn},
		records, in.ShardKey())
	rows := named.Cut(t.MaxRecords)
	c := len(p.Schema.Label.Classes)
	classes = make([]int, records.Len())
	for _, i := range rows {
		if classes[i] = records.Y[i]; classes[i] < 0 || classes[i] >= c {
			classes[i] = int(named.UniformNumber(keyed.PurposeClass, i) % uint64(c))
		}
	}
	switch {
	case t.Sets == SetsMade:
		sets = make([][]int, c)
		deal := DealProbabilities(t.Skew, t.Expected, c)
		for _, i := range rows {
			u, at := float64(named.UniformNumber(keyed.PurposeSet, i))/(1<<64), 0
			for ; at < c-1 && u >= deal[classes[i]][at]; at++ {
				u -= deal[classes[i]][at]
			}
			sets[at] = append(sets[at], i)
		}
	case t.Sets == SetsColumn && records.Party != nil:
		sets = columnSets(named, records, rows, t.MaxSets)
	default:
		sets = [][]int{rows}
	}
	for k, set := range sets {
		sets[k] = slices.DeleteFunc(set, records.IsExcluded)
	}
	return sets, classes
}

// columnSets returns the rows of each value of the party column. All rows without a value join one
// of these sets, so an unreadable cell changes neither the number of sets nor the number of rows.
func columnSets(k *keyed.Records, records *dataset.Records, rows []int, most int) [][]int {
	of := map[string][]int{}
	for _, i := range rows {
		of[records.Party[i]] = append(of[records.Party[i]], i)
	}
	blank := of[""]
	delete(of, "")
	if len(of) == 0 {
		return [][]int{rows}
	}
	var sets [][]int
	for at, name := range slices.Sorted(maps.Keys(of)) {
		if at < most {
			sets = append(sets, of[name])
		} else {
			sets[most-1] = append(sets[most-1], of[name]...)
		}
	}
	at := keyed.LeadingNumber(k.Key(keyed.PurposeBlankSet)) % uint64(len(sets))
	sets[at] = append(sets[at], blank...)
	return sets
}

// Task is a ratio plan with its pool: how a site divides records into sets and publishes each.
type Task struct {
	study.TaskBase
	Design Design
	Reader ContributionReader
	// embedder is nil if features leave in clear. It is not for concurrent use, so calls take a
	// copy.
	embedder *embedding.Embedder
}

// New draws the plan's public Fourier map once, if features are embeddings: Dim × Fourier/2
// frequencies.
func (Kind) New(p study.Plan, pool *auxdata.Pool) (study.Task, error) {
	t := Task{TaskBase: study.NewTaskBase(Kind{}, p, pool)}
	var err error
	if t.Design, err = designOf(p); err != nil {
		return nil, err
	}
	terms := t.Design.ReleaseTerms
	terms.Bound = t.Design.boundFor(t.Design.Terms.SetsOfParty(t.Design.Classes))
	released, err := bodies.NewPartyReleases(p, terms)
	if err != nil {
		return nil, err
	}
	t.Reader = ContributionReader{released, t.Design}
	if t.Design.Terms.Features != FeaturesClear {
		t.embedder, err = embedding.NewEmbedder(t.Design.Fourier)
	}
	return t, err
}

// Contribute makes the plan's number of sets, empty ones included, so that the body's length
// follows from the plan and public sizes. Counts, and noisy embeddings with them, go through the
// ledger in one request.
func (t Task) Contribute(in study.Inputs) (study.Contribution, error) {
	p, d := t.Plan(), t.Design
	in.Study = t.Hash()
	var embedder *embedding.Embedder
	if t.embedder != nil {
		embedder = t.embedder.Copy()
	}
	sets, classes := DealSets(p, in)
	for len(sets) < d.Terms.SetsOfParty(d.Classes) {
		sets = append(sets, nil)
	}
	var head []byte
	var values []int64
	for _, rows := range sets {
		counts := make([]int64, d.Block)
		for _, i := range rows {
			counts[classes[i]]++
		}
		if d.sized {
			head = binary.BigEndian.AppendUint32(head, uint32(len(rows)))
		}
		switch {
		case d.Terms.Features == FeaturesNoisyEmbedding:
			embedSum(counts[d.Classes:], embedder, d.lattice, p, in.Records, rows)
		case d.Terms.Features == FeaturesEmbedding:
			sum := make([]int64, d.Fourier.Features)
			embedSum(sum, embedder, d.lattice, p, in.Records, rows)
			head = bodies.AppendFixed(head, sum)
		case len(rows) > 0:
			head = bodies.AppendFeatures(head, p.MapRecords(in.Records.Select(rows)))
		}
		values = append(values, counts...)
	}
	s, err := privacy.NewSensitive(values, d.boundFor(len(sets)))
	if err != nil {
		return study.Contribution{}, err
	}
	head = slices.Clip(head) // Clip: two bodies must not share bytes
	return study.Contribution{
		Requests: []study.Request{{Output: d.Output, Sensitive: s, Mechanism: d.Mechanism}},
		Body:     func(r []privacy.Published) ([]byte, error) { return t.Reader.Append(head, r[0]) },
	}, nil
}

const embedRows = 2048

func embedSum(sum []int64, e *embedding.Embedder, l embedding.Lattice, p study.Plan,
	records *dataset.Records, rows []int) {
	for from := 0; from < len(rows); from += embedRows {
		part := rows[from:min(len(rows), from+embedRows)]
		e.AddIntegersTo(sum, p.MapRecords(records.Select(part)), l)
	}
}

// MaxBody adds up the sets' sizes, the features or embeddings, and the publication.
func (t Task) MaxBody() int {
	terms := t.Design.Terms
	sets := terms.SetsOfParty(t.Design.Classes)
	most := sizeSize*sets + bodies.PublishedSize(sets*t.Design.Block)
	switch terms.Features {
	case FeaturesClear:
		most += 2 * terms.MaxRecords * t.Pool().Dim()
	case FeaturesEmbedding:
		most += 8 * sets * terms.Fourier
	}
	return most
}

const sizeSize = 4

// Charges is one charge, under the bound for any number of sets. The weight has no influence;
// mechanisms for simulation cost nothing.
func (t Task) Charges(int64) ([]study.Charge, error) {
	// mechanisms for simulations only have no proof, so they cost nothing
	cost := privacy.Cost{Unit: t.Plan().Unit}
	if !slices.Contains(simulatedCounts, t.Plan().Mechanism) {
		var err error
		if cost, err = privacy.CostOf(t.Design.Mechanism, t.Design.Bound); err != nil {
			return nil, err
		}
	}
	return []study.Charge{t.Design.Charge(cost, cost)}, nil
}

// Reservations is one release, of the plan's number of sets. It does not depend on the number of
// records.
func (t Task) Reservations(int) ([]study.Reservation, error) {
	d := t.Design
	sets := d.Terms.SetsOfParty(d.Classes)
	d.Bound = d.boundFor(sets)
	return d.Reserve(sets * d.Block), nil
}

// SetsOfParty returns the number of sets that each party sends. It follows from the plan alone, so
// that release and charge are known before records are read. If a column names sets, a party with
// fewer sets adds empty ones.
func (t Terms) SetsOfParty(classes int) int {
	switch t.Sets {
	case SetsColumn:
		return t.MaxSets
	case SetsMade:
		return classes
	}
	return 1
}

// Work grows with records × Fourier features × mapped columns, and adds the dealing of made sets.
func (t Task) Work(records int) (study.Work, error) {
	w := study.Work{OtherSteps: t.CommonWork(records) +
		float64(records)*float64(t.Design.Terms.Fourier)*(float64(t.Plan().Map.Dim())+study.CosineSteps)}
	if t.Design.Terms.Expected != nil {
		w.OtherSteps += dealingSteps(len(t.Plan().Schema.Label.Classes))
	}
	return w, nil
}
