package simulate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classify"
	"caucus/study/kinds"
)

// Simulation runs a plan with virtual parties through the real study machine
// and a simulation ledger, and measures what the release is worth.
type Simulation struct {
	// Plan says kind, schema, unit, budget, mechanism, noise and so on. Pool,
	// map, roster and minimum are filled in.
	Plan study.Plan
	// Train is split into the pool and the parties' records, unless Pool is
	// given. Test, where nil, is a quarter of Train set aside first.
	Train, Test, Pool *dataset.Records
	// PoolWeight is one positive weight a row of Pool; nil: all weigh the same.
	PoolWeight []float64
	// PoolFraction of Train becomes the pool, at most PoolRows rows (0: no
	// limit).
	PoolFraction float64
	PoolRows     int
	// Parties share the records in random equal parts; 0 takes the natural
	// parties of the records' party column.
	Parties int
	// Map is the public map to fit on the pool.
	Map     dataset.Components
	Repeats int
	Seed    uint64
	// Progress, where not nil, is called as contributions arrive; it must be
	// safe for concurrent use.
	Progress func(done, total int)
}

// Summary is what a simulation found; means over the repeats.
type Summary struct {
	Study     string       `json:"study"`
	Mechanism string       `json:"mechanism"`
	Unit      privacy.Unit `json:"unit"`
	Noise     string       `json:"noise"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Parties   int          `json:"parties"`
	Shards    int          `json:"shards"`
	PoolRows  int          `json:"pool_rows"`
	Features  int          `json:"features"`
	Classes   int          `json:"classes"`
	Lambda    float64      `json:"lambda"`
	Accuracy  Accuracies   `json:"accuracy"`
	// Map is the first repeat's map in words, Kept how much of each column it
	// keeps, least first; absent where it keeps all.
	Map  string         `json:"map"`
	Kept []dataset.Kept `json:"kept,omitempty"`
	// UploadBytes is the mean size of a contribution's body.
	UploadBytes float64         `json:"upload_bytes_per_party"`
	Repeats     int             `json:"repeats"`
	Drift       *float64        `json:"drift,omitempty"`
	Forecast    *study.Forecast `json:"forecast,omitempty"`
	Warnings    []string        `json:"warnings,omitempty"`
	// Totals are what the study and its pool's weights guarantee together.
	Totals []study.UnitTotal `json:"totals,omitempty"`
	// Release is the first repeat's, for trying predict.
	Release *study.Release `json:"-"`
}

// Accuracies are shares of the test records labelled correctly.
type Accuracies struct {
	Released   float64 `json:"released"`
	ReleasedSD float64 `json:"released_sd"`
	// Unperturbed is the same fit without noise (with the same kind of
	// statistic), Pooled a softmax classifier on the records themselves (at
	// most maxPooled of them), LocalMean the mean over parties (at most
	// maxLocal of them) of a classifier of their own records.
	Unperturbed   float64 `json:"unperturbed"`
	Pooled        float64 `json:"pooled"`
	LocalMean     float64 `json:"local_mean"`
	MajorityClass float64 `json:"majority_class"`
}

const (
	maxPooled = 50_000
	maxLocal  = 40
)

// Check says what is wrong with a simulation before it starts.
func (s Simulation) Check() error {
	labelled := 0
	seen := map[int]bool{}
	for _, y := range s.Train.Y {
		if y >= 0 {
			labelled++
			seen[y] = true
		}
	}
	switch {
	case labelled == 0:
		return fmt.Errorf("simulate: no training record has a label the schema knows: check the schema's label column and classes")
	case len(seen) < 2:
		return fmt.Errorf("simulate: all training records have class %q: at least two classes are needed", s.Plan.Schema.Classes()[s.Train.Y[slices.IndexFunc(s.Train.Y, func(y int) bool { return y >= 0 })]])
	case s.Pool == nil && !(s.PoolFraction > 0 && s.PoolFraction < 1):
		return fmt.Errorf("simulate: the pool fraction is %v: give a share between 0 and 1, or a pool file", s.PoolFraction)
	case s.Repeats < 1:
		return fmt.Errorf("simulate: %d repeats: give at least 1", s.Repeats)
	case s.Parties < 0:
		return fmt.Errorf("simulate: %d parties: give at least 1", s.Parties)
	case s.Parties == 0 && s.Train.Party == nil:
		return fmt.Errorf("simulate: give the number of parties, or name a party column")
	}
	return nil
}

// repeat is the outcome of one repeat.
type repeat struct {
	accuracy            Accuracies
	lambda, uploadBytes float64
	parties, poolRows   int
	features            int
	release             study.Release
	kept                []dataset.Kept
	words               string // of the map
}

// Run simulates. The answer depends on the seed alone, not on scheduling.
func (s Simulation) Run(ctx context.Context) (Summary, error) {
	if err := s.Check(); err != nil {
		return Summary{}, err
	}
	s.Plan.Simulated = true
	done := make([]repeat, s.Repeats)
	for i := range done {
		var err error
		if done[i], err = s.once(ctx, i); err != nil {
			return Summary{}, err
		}
	}
	first := done[0]
	p := s.Plan
	out := Summary{
		Study: p.Kind, Mechanism: p.Mechanism, Unit: p.Unit, Noise: p.Noise,
		Epsilon: p.Epsilon, Delta: p.Delta, Parties: first.parties, Shards: p.Shards,
		PoolRows: first.poolRows, Features: first.features, Classes: len(p.Schema.Classes()),
		Map: first.words, Kept: first.kept,
		Repeats: s.Repeats, Release: &first.release, Forecast: first.release.Forecast,
	}
	mean := func(f func(repeat) float64) (float64, float64) {
		v := make([]float64, len(done))
		for i, r := range done {
			v[i] = f(r)
		}
		m, sd := stat.MeanStdDev(v, nil)
		if len(v) == 1 {
			sd = 0
		}
		return m, sd
	}
	out.Accuracy.Released, out.Accuracy.ReleasedSD = mean(func(r repeat) float64 { return r.accuracy.Released })
	out.Accuracy.Unperturbed, _ = mean(func(r repeat) float64 { return r.accuracy.Unperturbed })
	out.Accuracy.Pooled, _ = mean(func(r repeat) float64 { return r.accuracy.Pooled })
	out.Accuracy.LocalMean, _ = mean(func(r repeat) float64 { return r.accuracy.LocalMean })
	out.Accuracy.MajorityClass, _ = mean(func(r repeat) float64 { return r.accuracy.MajorityClass })
	out.Lambda, _ = mean(func(r repeat) float64 { return r.lambda })
	out.UploadBytes, _ = mean(func(r repeat) float64 { return r.uploadBytes })
	out.Warnings = first.release.Result.Warnings
	if p.Weights != nil {
		out.Totals = first.release.Totals
	}
	if w := first.release.Forecast.Warning(p, study.Size{Parties: first.parties}); w != "" {
		out.Warnings = append(out.Warnings, w)
	}
	return out, nil
}

// split deals a repeat's records.
func (s Simulation) split(rng *rand.Rand) (private, pool, test *dataset.Records, err error) {
	rows := rng.Perm(s.Train.Len())
	if test = s.Test; test == nil {
		n := len(rows) / 4
		test, rows = s.Train.Select(rows[:n]), rows[n:]
	}
	if pool = s.Pool; pool == nil {
		n := int(math.Round(s.PoolFraction * float64(len(rows))))
		if n < 1 || n >= len(rows) {
			return nil, nil, nil, fmt.Errorf("simulate: a pool fraction of %v leaves %d rows for the pool and %d for the parties: change it", s.PoolFraction, n, len(rows)-n)
		}
		mine := rows[n:]
		if s.PoolRows > 0 {
			n = min(n, s.PoolRows)
		}
		pool, rows = s.Train.Select(rows[:n]), mine
	}
	return s.Train.Select(rows), pool, test, nil
}

// deal gives each party its rows.
func (s Simulation) deal(private *dataset.Records, rng *rand.Rand) ([][]int, error) {
	if s.Parties == 0 {
		of := map[string][]int{}
		for i, name := range private.Party {
			of[name] = append(of[name], i)
		}
		var out [][]int
		for _, name := range sortedKeys(of) {
			out = append(out, of[name])
		}
		return out, nil
	}
	if s.Parties > private.Len() {
		return nil, fmt.Errorf("simulate: %d parties for %d records: give at most as many parties as records", s.Parties, private.Len())
	}
	out := make([][]int, s.Parties)
	for i, row := range rng.Perm(private.Len()) {
		out[i%s.Parties] = append(out[i%s.Parties], row)
	}
	return out, nil
}

func sortedKeys(m map[string][]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s Simulation) once(ctx context.Context, index int) (repeat, error) {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(index)))
	private, poolRecords, test, err := s.split(rng)
	if err != nil {
		return repeat{}, err
	}
	parties, err := s.deal(private, rng)
	if err != nil {
		return repeat{}, err
	}
	p := s.Plan
	p.Seed = rng.Uint64()
	p.Roster, p.Minimum = virtualRoster(len(parties)), len(parties)
	size := study.Size{Parties: len(parties), Records: private.Len()}
	if p.Map, err = kinds.FitMap(p, size, s.Map, poolRecords.X); err != nil {
		return repeat{}, fmt.Errorf("simulate: %w", err)
	}
	pool := auxdata.Virtual(poolRecords.X, p.Map)
	if s.PoolWeight != nil {
		if pool, err = pool.Weighted(s.PoolWeight); err != nil {
			return repeat{}, fmt.Errorf("simulate: %w", err)
		}
	}
	p.Pool = pool.Digest

	out := repeat{parties: len(parties), poolRows: pool.Rows(), features: pool.Dim(), kept: p.Map.Kept(p.Schema, poolRecords.X), words: p.Map.Words()}
	inputs := func(i int) study.Inputs {
		return study.Inputs{
			Records:  private.Select(parties[i]),
			ShardKey: binary.BigEndian.AppendUint64(nil, p.Seed+uint64(i)),
			Rng:      rand.New(rand.NewPCG(p.Seed, uint64(i))),
		}
	}
	run := virtual{plan: p, pool: pool, inputs: inputs, progress: func(n int) {
		if s.Progress != nil {
			s.Progress(index*len(parties)+n, s.Repeats*len(parties))
		}
	}}
	release, unperturbed, bytes, task, err := run.study(ctx)
	if err != nil {
		return repeat{}, err
	}
	out.release = release
	if c, ok := classifier.Of(release.Result); ok {
		out.lambda = c.Lambda
	}
	out.uploadBytes = float64(bytes) / float64(len(parties))

	if out.release.Forecast, err = study.ForecastOf(task, size); err != nil {
		out.release.Forecast = nil
	}
	return out, s.measure(&out, p, private, parties, test, unperturbed, rng)
}

// virtualRoster names virtual parties.
func virtualRoster(parties int) (roster []study.PartyID) {
	for i := range parties {
		roster = append(roster, study.PartyID(fmt.Sprintf("party-%05d", i+1)))
	}
	return roster
}

// measure fills in the accuracies on the test records.
func (s Simulation) measure(out *repeat, p study.Plan, private *dataset.Records, parties [][]int, test *dataset.Records, unperturbed study.Result, rng *rand.Rand) error {
	x := p.Mapped(test)
	for _, r := range []struct {
		result study.Result
		to     *float64
	}{{out.release.Result, &out.accuracy.Released}, {unperturbed, &out.accuracy.Unperturbed}} {
		c, _ := classifier.Of(r.result)
		model, err := c.Linear()
		if err != nil {
			return err
		}
		*r.to = accuracy(model.Predict(x), test.Y)
	}
	all := make([]int, private.Len())
	for i := range all {
		all[i] = i
	}
	if len(all) > maxPooled {
		all = rng.Perm(len(all))[:maxPooled]
	}
	pooled := p
	pooled.Learner = learners.Default
	if model, _ := classify.TrainLocal(context.Background(), pooled, private.Select(all), rng, false); model != nil {
		out.accuracy.Pooled = accuracy(model.Predict(x), test.Y)
	}
	local := min(len(parties), maxLocal)
	for i := range local {
		model, features := classify.TrainLocal(context.Background(), p, private.Select(parties[i]), rng, false)
		on := x
		if features == learners.Encoded {
			on = test.X
		}
		if model != nil {
			out.accuracy.LocalMean += accuracy(model.Predict(on), test.Y) / float64(local)
		}
	}
	counts := map[int]int{}
	labelled := 0
	for _, y := range test.Y {
		if y >= 0 {
			labelled++
			counts[y]++
			out.accuracy.MajorityClass = math.Max(out.accuracy.MajorityClass, float64(counts[y]))
		}
	}
	out.accuracy.MajorityClass /= float64(max(labelled, 1))
	return nil
}

// accuracy is the share of labelled records predicted correctly.
func accuracy(predicted, y []int) float64 {
	right, labelled := 0, 0
	for i, k := range y {
		if k < 0 {
			continue
		}
		labelled++
		if predicted[i] == k {
			right++
		}
	}
	return float64(right) / float64(max(labelled, 1))
}

// virtual is one study among virtual parties.
type virtual struct {
	plan     study.Plan
	pool     *auxdata.Pool
	inputs   func(i int) study.Inputs
	progress func(done int)
	lean     bool // leave out the result without noise
}

// study drives the real machine: parties draft and settle in parallel, bodies
// are added as they arrive, the study seals, folds and releases. It also
// returns the result of the same contributions without noise (none if lean),
// the bytes sent, and the study's task.
func (v virtual) study(ctx context.Context) (study.Release, study.Result, int64, study.Task, error) {
	fail := func(err error) (study.Release, study.Result, int64, study.Task, error) {
		return study.Release{}, study.Result{}, 0, nil, err
	}
	r, err := newRehearsal(v.plan, v.pool)
	if err != nil {
		return fail(err)
	}
	statistic, ok := bodies.Of(r.task)
	if !ok {
		return fail(fmt.Errorf("simulate: kind %q has no statistic that adds up", v.plan.Kind))
	}
	// The same contributions without noise, for comparison.
	clear, ok := r.sum.(*bodies.ClearSum)
	if !ok {
		clear = bodies.NewClearSum(statistic.Statistic)
	}
	sent, err := v.contribute(ctx, r, statistic, clear)
	if err != nil {
		return fail(err)
	}
	var without study.Result
	if !v.lean {
		if without, err = statistic.Unperturbed(clear); err != nil {
			return fail(err)
		}
	}
	release, err := r.conclude(ctx)
	return release, without, sent, r.task, err
}

func (v virtual) contribute(ctx context.Context, r *rehearsal, statistic bodies.Task, clear *bodies.ClearSum) (sent int64, err error) {
	err = eachParty(ctx, len(v.plan.Roster), func(ctx context.Context, i int) (func() error, error) {
		body, plain, err := v.bodies(ctx, r, statistic, i)
		return func() error {
			err := Receive(r.study, r.sum, v.plan.Roster[i], body)
			if err == nil && plain != nil {
				err = clear.Add(plain)
			}
			sent += int64(len(body))
			v.progress(len(r.study.Received))
			return err
		}, err
	})
	return sent, err
}

// bodies are a party's contribution, and the same in clear where the party
// adds noise: both of one share of the statistic.
func (v virtual) bodies(ctx context.Context, r *rehearsal, statistic bodies.Task, i int) (body, plain []byte, err error) {
	vector, weight := statistic.Local(v.inputs(i))
	if v.plan.Noise == study.NoiseCoordinator || !v.lean {
		if plain, err = statistic.Statistic.AppendClear(vector, weight); err != nil {
			return nil, nil, err
		}
	}
	if v.plan.Noise == study.NoiseCoordinator {
		return plain, nil, nil
	}
	d, err := statistic.AtSite(vector, weight)
	if err == nil {
		body, err = r.body(ctx, d, i)
	}
	return body, plain, err
}
