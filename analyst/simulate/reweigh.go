package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/reweigh/weighed"
)

// Reweigh divides records into private records and a public pool with other shares of a group, runs
// a reweigh proposal among virtual parties, and compares the answer to a query with the truth.
type Reweigh struct {
	Schema   dataset.Schema
	Proposal study.Proposal
	// Records holds all records, and Group marks the records of a group. A share PrivateShare of
	// the group's records and 1−PrivateShare of the other records are private. The rest are the
	// pool.
	Records      *dataset.EncodedTable
	Group        []bool
	PrivateShare float64
	// HoldOutShare is the share of the private records that is set aside for tests.
	HoldOutShare float64
	// Query has a number for each record. The study estimates the mean of these numbers over the
	// private records.
	Query []float64
	// Parties share the private records in random equal parts, at most PerParty each (0: no limit).
	Parties, PerParty int
	Repeats           int
	Seed              uint64
	// SkipUnperturbed omits the answer without noise, which is half of the work. Unperturbed is
	// then NaN.
	SkipUnperturbed bool
	Progress        func(done, total int)
}

// ReweighSummary is the result of a simulation. Truth, Unweighted, Estimate and Unperturbed are
// means.
type ReweighSummary struct {
	Summary
	PrivateRows int `json:"private_rows"`
	PoolRows    int `json:"pool_rows"`
	Features    int `json:"features"`
	// Truth is the query's mean over the private records, Unweighted over the pool, Estimate over
	// the weighted pool, and Unperturbed over the pool weighted without noise.
	Truth       float64 `json:"truth"`
	Unweighted  float64 `json:"unweighted"`
	Estimate    float64 `json:"estimate"`
	Unperturbed float64 `json:"unperturbed"`
	// RMSE is the root mean square of Estimate − Truth over the repeats, and Bias the mean.
	// UnperturbedRMSE and UnweightedRMSE are the RMSE without noise and without weights.
	RMSE            float64 `json:"rmse"`
	Bias            float64 `json:"bias"`
	UnperturbedRMSE float64 `json:"unperturbed_rmse"`
	UnweightedRMSE  float64 `json:"unweighted_rmse"`
	// IntervalShare is the share of repeats whose answer has an interval. Coverage is the share of
	// these intervals that contain the truth, and Width their mean width.
	IntervalShare float64 `json:"intervals"`
	Coverage      float64 `json:"coverage"`
	Width         float64 `json:"interval_width"`
	// R2 and MovedByWeights are means of the fields of fitting.QueryEstimate.
	R2             float64 `json:"r_squared"`
	MovedByWeights float64 `json:"distance_moved"`
	// ForecastSD is the mean standard deviation, by noise and sampling, that releases state for
	// answers.
	ForecastSD    float64 `json:"forecast_sd"`
	Lambda        float64 `json:"lambda"`
	EffectiveRows float64 `json:"effective_rows"`
	LargestWeight float64 `json:"largest_weight"`
	UploadBytes   float64 `json:"upload_bytes_per_party"`
	// Pool is that of the first repeat. PoolRecords, PrivateRecords and TestRecords (HoldOut) are
	// the indices in Records of its records.
	Pool           *auxdata.Pool `json:"-"`
	PoolRecords    []int         `json:"-"`
	PrivateRecords []int         `json:"-"`
	TestRecords    []int         `json:"-"`
}

// Check demands a group with records inside and outside, and shares that leave both a pool and
// private records. It draws nothing.
func (s Reweigh) Check() error {
	n := s.Records.Len()
	group := 0
	for _, g := range s.Group {
		if g {
			group++
		}
	}
	switch {
	case len(s.Group) != n || len(s.Query) != n:
		return fmt.Errorf("simulate: %d records, %d group marks and %d query answers: give one each", n, len(s.Group), len(s.Query))
	case group == 0 || group == n:
		return fmt.Errorf("simulate: the split puts %d of %d records into one group: choose a value that some records have and others do not", group, n)
	case !(s.PrivateShare > 0 && s.PrivateShare <= 1):
		return fmt.Errorf("simulate: a share of %v of the group is private: give a number above 0 and at most 1", s.PrivateShare)
	case !(s.HoldOutShare >= 0 && s.HoldOutShare < 1):
		return fmt.Errorf("simulate: a share of %v of the private records is held out: give a number from 0 to below 1", s.HoldOutShare)
	case s.Parties < 1:
		return fmt.Errorf("simulate: %d parties: give at least 1", s.Parties)
	}
	if err := checkRepeats(s.Repeats); err != nil {
		return err
	}
	return checkProposal(s.Proposal, s.Schema, study.Size{Parties: s.Parties, Records: n})
}

// Split divides the records' indices into private records and pool.
func (s Reweigh) Split(rng *rand.Rand) (private, pool []int) {
	var group, others []int
	for _, i := range rng.Perm(s.Records.Len()) {
		if s.Group[i] {
			group = append(group, i)
		} else {
			others = append(others, i)
		}
	}
	g := int(math.Round(s.PrivateShare * float64(len(group))))
	o := int(math.Round((1 - s.PrivateShare) * float64(len(others))))
	private = append(append(private, group[:g]...), others[:o]...)
	pool = append(append(pool, group[g:]...), others[o:]...)
	rng.Shuffle(len(private), func(i, j int) { private[i], private[j] = private[j], private[i] })
	return private, pool
}

// Run simulates. The result depends on the seed alone.
func (s Reweigh) Run(ctx context.Context) (ReweighSummary, error) {
	if err := s.Check(); err != nil {
		return ReweighSummary{}, err
	}
	done, err := repeated(s.Repeats, func(i int) (ReweighSummary, error) { return s.once(ctx, i) })
	if err != nil {
		return ReweighSummary{}, err
	}
	out, _ := meanOf(done)
	out.Summary = done[0].Summary
	if out.IntervalShare > 0 {
		out.Coverage, out.Width = out.Coverage/out.IntervalShare, out.Width/out.IntervalShare
	}
	var errors, clear, raw []float64
	for _, r := range done {
		errors = append(errors, r.Estimate-r.Truth)
		clear = append(clear, r.Unperturbed-r.Truth)
		raw = append(raw, r.Unweighted-r.Truth)
	}
	out.RMSE, out.UnperturbedRMSE, out.UnweightedRMSE = rms(errors), rms(clear), rms(raw)
	out.Bias = stat.Mean(errors, nil)
	return out, nil
}

func rms(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(v)))
}

type dealt struct {
	*DealtData
	private, pool, test []int
}

func (s Reweigh) deal(index int) (dealt, error) {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(index)))
	private, pool := s.Split(rng)
	held := int(s.HoldOutShare * float64(len(private)))
	d := dealt{private: private[held:], pool: pool, test: private[:held]}
	switch n := len(d.private); {
	case len(pool) < 2:
		return d, fmt.Errorf("simulate: a share of %v leaves %d records for the pool: choose another", s.PrivateShare, len(pool))
	case s.Parties > n:
		return d, fmt.Errorf("simulate: %d parties for %d private records: give at most as many parties as records", s.Parties, n)
	}
	parties := dealEvenly(dataset.RowRange(0, len(d.private)), s.Parties)
	for i, rows := range parties {
		if s.PerParty > 0 && len(rows) > s.PerParty {
			parties[i] = rows[:s.PerParty]
		}
	}
	d.DealtData = &DealtData{
		Schema: s.Schema, Pool: s.Records.Select(pool).X, Private: s.Records.Subset(d.private), Parties: parties,
		Test: s.Records.Subset(d.test), rng: rng, seed: rng.Uint64(),
	}
	d.compareSizes(s.PerParty)
	return d, nil
}

func (s Reweigh) once(ctx context.Context, index int) (ReweighSummary, error) {
	fail := func(err error) (ReweighSummary, error) { return ReweighSummary{}, err }
	d, err := s.deal(index)
	if err != nil {
		return fail(err)
	}
	task, err := d.Task(s.Proposal)
	if err != nil {
		return fail(err)
	}
	run, err := d.Run(ctx, task,
		Options{SkipUnperturbed: s.SkipUnperturbed,
			Progress: progressOf(s.Progress, index, s.Repeats, s.Parties)})
	if err != nil {
		return fail(err)
	}
	w, err := weighed.WeightsOf(run.Release)
	if err != nil {
		return fail(err)
	}
	out := ReweighSummary{
		Summary:     summaryOf(task.Plan(), s.Repeats, &run.Release, d.Short),
		PrivateRows: len(d.private), PoolRows: len(d.pool), Features: len(w.Features),
		Lambda: w.Lambda, EffectiveRows: w.EffectiveRows, LargestWeight: w.Largest,
		UploadBytes: run.UploadBytes, Pool: task.Pool(), PoolRecords: d.pool,
		PrivateRecords: d.private, TestRecords: d.test,
	}
	out.Totals = run.Release.Totals
	err = s.measure(&out, d, run)
	return out, err
}

func (s Reweigh) measure(out *ReweighSummary, d dealt, run Run) error {
	b := make([]float64, len(d.pool))
	for i, row := range d.pool {
		b[i] = s.Query[row]
	}
	answer, err := weighed.EstimateQuery(run.Release, out.Pool, b)
	if err != nil {
		return err
	}
	out.Unweighted, out.Estimate = stat.Mean(b, nil), answer.Estimate
	out.ForecastSD, out.R2, out.MovedByWeights = math.Hypot(answer.NoiseSD,
		answer.PoolSamplingSD), answer.R2, answer.MovedByWeights
	for _, row := range d.private {
		out.Truth += s.Query[row] / float64(len(d.private))
	}
	if answer.Low != nil {
		out.IntervalShare, out.Width = 1, *answer.High-*answer.Low
		if *answer.Low <= out.Truth && out.Truth <= *answer.High {
			out.Coverage = 1
		}
	}
	out.Unperturbed = math.NaN()
	if run.Unperturbed.Body != nil {
		var w weighed.Weights
		if err := run.Unperturbed.DecodeBody(&w); err != nil {
			return err
		}
		out.Unperturbed = stat.Mean(b, w.Weight)
	}
	return nil
}
