package simulate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/labels"
)

// Labels runs a labels plan with virtual parties through the real
// study machine and simulation ledgers, and measures what the classifier is
// worth. The fields of Simulation mean what they mean there.
type Labels struct {
	Simulation
	// Filters, above 0, makes a map of pictures come before the principal
	// components; Pictures says what a row is.
	Filters  int
	Pictures *dataset.Pictures
	// Fourier, above 0, is the number of random Fourier features that come last,
	// of a kernel of this Gamma.
	Fourier int
	Gamma   float64
}

// LabelSummary is what it found; means over the repeats.
type LabelSummary struct {
	Study      string  `json:"study"`
	Mechanism  string  `json:"mechanism"`
	Unit       string  `json:"unit"`
	Noise      string  `json:"noise"`
	Epsilon    float64 `json:"epsilon"`
	Keep       float64 `json:"keep"`
	Loss       string  `json:"loss"`
	Risk       string  `json:"risk"`
	Correction string  `json:"correction"`
	Parties    int     `json:"parties"`
	Records    int     `json:"records"`
	PoolRows   int     `json:"pool_rows"`
	Features   int     `json:"features"`
	Classes    int     `json:"classes"`
	Lambda     float64 `json:"lambda"`
	// The measures on the test records; SD over the repeats.
	learners.Measures
	SD learners.Measures `json:"sd"`
	// Unperturbed is the same fit on the true labels.
	Unperturbed   learners.Measures `json:"unperturbed"`
	MajorityClass float64           `json:"majority_class"`
	// Shares are the first repeat's: true ones of the records, and estimates.
	TrueShares []float64               `json:"true_shares"`
	Shares     aggregation.LabelShares `json:"shares"`
	// UploadBytes is the mean size of a contribution's body.
	UploadBytes float64         `json:"upload_bytes_per_party"`
	Repeats     int             `json:"repeats"`
	Forecast    *study.Forecast `json:"forecast,omitempty"`
	Warnings    []string        `json:"warnings,omitempty"`
	// Release is the first repeat's, for trying predict.
	Release *study.Release `json:"-"`
}

// labelRepeat is the outcome of one repeat.
type labelRepeat struct {
	got, unperturbed learners.Measures
	lambda, bytes    float64
	majority         float64
	truth            []float64
	parties, records int
	poolRows, dim    int
	release          study.Release
	result           labels.Result
}

// Run simulates. The answer depends on the seed alone.
func (s Labels) Run(ctx context.Context) (LabelSummary, error) {
	if err := s.Check(); err != nil {
		return LabelSummary{}, err
	}
	warnings, err := s.checkTest()
	if err != nil {
		return LabelSummary{}, err
	}
	if s.Filters > 0 && s.Pictures == nil {
		return LabelSummary{}, fmt.Errorf("simulate: filters are for pictures, and nothing says what size these are: leave filters out")
	}
	s.Plan.Simulated = true
	if s.Plan.KindTerms == nil {
		if err := s.Plan.SetTerms(labels.DefaultTerms()); err != nil {
			return LabelSummary{}, err
		}
	}
	done := make([]labelRepeat, s.Repeats)
	for i := range done {
		if done[i], err = s.once(ctx, i); err != nil {
			return LabelSummary{}, err
		}
	}
	summary := s.summary(done)
	summary.Warnings = append(summary.Warnings, warnings...)
	return summary, nil
}

// checkTest refuses test records that no measure can be taken of, and says which
// classes the measures leave out.
func (s Labels) checkTest() (warnings []string, err error) {
	if s.Test == nil { // split off the training records
		return nil, nil
	}
	var seen []string
	for k, class := range s.Plan.Schema.Classes() {
		if slices.Contains(s.Test.Y, k) {
			seen = append(seen, class)
		} else {
			warnings = append(warnings, fmt.Sprintf("no test record has class %q: balanced error and area under the curve leave it out", class))
		}
	}
	switch len(seen) {
	case 0:
		return nil, fmt.Errorf("simulate: no test record has one of the classes %v: give records with their labels", s.Plan.Schema.Classes())
	case 1:
		return nil, fmt.Errorf("simulate: all test records have class %q: balanced error and area under the curve compare at least two classes", seen[0])
	}
	return warnings, nil
}

func (s Labels) summary(done []labelRepeat) LabelSummary {
	first, p := done[0], s.Plan
	l := first.result
	out := LabelSummary{
		Study: p.Kind, Mechanism: p.Mechanism, Unit: p.Unit.String(), Noise: p.Noise, Epsilon: p.Epsilon,
		Keep: l.Keep, Loss: l.Loss, Risk: l.Risk, Correction: l.Correction,
		Parties: first.parties, Records: first.records, PoolRows: first.poolRows, Features: first.dim,
		Classes: len(p.Schema.Label.Classes), TrueShares: first.truth, Shares: l.Shares, Repeats: s.Repeats,
		Forecast: first.release.Forecast, Warnings: first.release.Result.Warnings, Release: &first.release,
	}
	each := func(f func(labelRepeat) float64) (mean, sd float64) {
		v := make([]float64, len(done))
		for i, r := range done {
			v[i] = f(r)
		}
		mean, sd = stat.MeanStdDev(v, nil)
		if len(v) == 1 {
			sd = 0
		}
		return mean, sd
	}
	out.Accuracy, out.SD.Accuracy = each(func(r labelRepeat) float64 { return r.got.Accuracy })
	out.BER, out.SD.BER = each(func(r labelRepeat) float64 { return r.got.BER })
	out.AUC, out.SD.AUC = each(func(r labelRepeat) float64 { return r.got.AUC })
	out.Unperturbed.Accuracy, _ = each(func(r labelRepeat) float64 { return r.unperturbed.Accuracy })
	out.Unperturbed.BER, _ = each(func(r labelRepeat) float64 { return r.unperturbed.BER })
	out.Unperturbed.AUC, _ = each(func(r labelRepeat) float64 { return r.unperturbed.AUC })
	out.Lambda, _ = each(func(r labelRepeat) float64 { return r.lambda })
	out.UploadBytes, _ = each(func(r labelRepeat) float64 { return r.bytes })
	out.MajorityClass, _ = each(func(r labelRepeat) float64 { return r.majority })
	return out
}

// mapOf fits the public map on the pool.
func (s Labels) mapOf(pool *mat.Dense, rng *rand.Rand) (dataset.Map, error) {
	m, err := s.firstMap(pool, rng)
	if err != nil {
		return m, err
	}
	if s.Fourier > 0 {
		if m, err = dataset.FitFourier(m, s.Fourier, dataset.Fourier{Gamma: s.Gamma, Seed: rng.Uint64()}); err != nil {
			return m, fmt.Errorf("simulate: %w", err)
		}
	}
	return m, nil
}

// firstMap is the map without Fourier features: components of the schema's
// columns, or of patches where there are filters, whose units are alike.
func (s Labels) firstMap(pool *mat.Dense, rng *rand.Rand) (dataset.Map, error) {
	if s.Filters == 0 {
		m, err := s.Map.Fit(s.Plan.Schema, pool)
		if err != nil {
			return m, fmt.Errorf("simulate: project the pool: %w", err)
		}
		return m, nil
	}
	m, err := dataset.FitPatches(pool, *s.Pictures, s.Filters, rng)
	if err != nil {
		return m, fmt.Errorf("simulate: map the pictures: %w", err)
	}
	if s.Map.Project == 0 {
		return m, nil
	}
	pca, err := dataset.FitPCAWhitened(m.Features(pool), int(s.Map.Project), s.Map.Whiten)
	if err != nil {
		return m, fmt.Errorf("simulate: project the pool: %w", err)
	}
	return pca.After(m), nil
}

func (s Labels) once(ctx context.Context, index int) (labelRepeat, error) {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(index)))
	private, poolRecords, test, err := s.split(rng)
	if err != nil {
		return labelRepeat{}, err
	}
	parties, err := s.deal(private, rng)
	if err != nil {
		return labelRepeat{}, err
	}
	p := s.Plan
	p.Seed = rng.Uint64()
	if p.Map, err = s.mapOf(poolRecords.X, rng); err != nil {
		return labelRepeat{}, err
	}
	pool := auxdata.Virtual(poolRecords.X, p.Map)
	p.Pool = pool.Digest
	for i := range parties {
		p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("party-%05d", i+1)))
	}
	p.Minimum = len(parties)
	out := labelRepeat{parties: len(parties), poolRows: pool.Rows(), dim: pool.Dim()}

	run, err := newRehearsal(p, pool)
	if err != nil {
		return labelRepeat{}, err
	}
	for i, rows := range parties {
		if err := ctx.Err(); err != nil {
			return labelRepeat{}, err
		}
		in := study.Inputs{Records: private.Select(rows), ShardKey: binary.BigEndian.AppendUint64(nil, p.Seed+uint64(i))}
		draft, err := run.task.Contribute(in)
		if err != nil {
			return labelRepeat{}, fmt.Errorf("simulate party %d: %w", i+1, err)
		}
		size, err := run.contribute(ctx, draft, i)
		if err != nil {
			return labelRepeat{}, fmt.Errorf("simulate party %d: %w", i+1, err)
		}
		out.bytes += float64(size) / float64(len(parties))
		if s.Progress != nil {
			s.Progress(index*len(parties)+i+1, s.Repeats*len(parties))
		}
	}
	if out.release, err = run.conclude(ctx); err != nil {
		return labelRepeat{}, err
	}
	if out.result, err = labels.ResultOf(out.release.Result); err != nil {
		return labelRepeat{}, err
	}
	out.lambda = out.result.Classifier.Lambda
	out.records = out.result.Records
	size := study.Size{Parties: len(parties), Records: private.Len()}
	if out.release.Forecast, err = study.ForecastOf(run.task, size); err != nil {
		out.release.Forecast = nil
	}
	return out, s.measureLabels(&out, p, private, test, rng)
}

// measureLabels fills in the measures on the test records.
func (s Labels) measureLabels(out *labelRepeat, p study.Plan, private, test *dataset.Records, rng *rand.Rand) error {
	classes := len(p.Schema.Label.Classes)
	clear := learners.Channel{Keep: 1, Classes: classes}
	x := p.Mapped(test)
	model, err := out.result.Classifier.Linear()
	if err != nil {
		return err
	}
	out.got = learners.Measure(model, x, test.Y, clear)
	fit, err := labels.FitClear(p, private, rng)
	if err != nil {
		return err
	}
	out.unperturbed = learners.Measure(fit.Model, x, test.Y, clear)
	out.truth = aggregation.DebiasedShares(private.Y, clear).Share
	for _, share := range aggregation.DebiasedShares(test.Y, clear).Share {
		out.majority = math.Max(out.majority, share)
	}
	return nil
}
