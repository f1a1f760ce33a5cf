package simulate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
	studyratio "caucus/study/ratio"
)

// Ratio makes sets of labelled records, one a virtual party, runs a
// ratio plan through the real study machine and simulation ledgers, and compares
// its estimates with the true shares of test sets.
type Ratio struct {
	// Plan says schema, unit, budget and mechanism. Pool, map, roster, minimum and
	// terms are filled in.
	Plan study.Plan
	// Terms are the kind's; width and set size are filled in. Gamma, where not 0, is
	// in units of one over the pool's median squared distance.
	Terms studyratio.Terms
	// Train, Test, Pool, PoolFraction, PoolRows and Map are as in Simulation.
	Train, Test, Pool *dataset.Records
	PoolFraction      float64
	PoolRows          int
	Map               dataset.Components
	// Sets of SetSize records each, disjoint. SetShares, where given, are their
	// class shares in turn; else Skew is the share of class i mod K in set i,
	// the others alike; else (0) they are uniform on the simplex, or natural
	// where each party makes sets of its own of them (terms: sets made). A set
	// whose classes run out is smaller.
	Sets, SetSize int
	SetShares     [][]float64
	Skew          float64
	// Targets are drawn from the test records, TargetSize each: at TargetShares
	// in turn where given, else by Protocol.
	Targets, TargetSize int
	TargetShares        [][]float64
	Protocol            ratio.Protocol
	Repeats             int
	Seed                uint64
	// Progress, where not nil, is called as contributions arrive.
	Progress func(done, total int)
}

// RatioL1 are mean L1 distances to the true shares.
type RatioL1 struct {
	Released float64 `json:"released"`
	// ReleasedSD is the standard deviation over targets and repeats.
	ReleasedSD float64 `json:"released_sd"`
	// Unperturbed is the same without noise; TrainingRatio always answers the
	// classes' shares in all sets together.
	Unperturbed   float64 `json:"unperturbed"`
	TrainingRatio float64 `json:"training_ratio"`
}

// RatioShareResult is the outcome at one of the given target shares.
type RatioShareResult struct {
	Shares []float64 `json:"shares"`
	L1     RatioL1   `json:"l1"`
}

// RatioSummary is what a simulation found; means over targets and repeats.
type RatioSummary struct {
	Study      string            `json:"study"`
	Mechanism  string            `json:"mechanism"`
	Sampler    string            `json:"sampler"`
	Parameters map[string]string `json:"parameters"`
	Estimator  string            `json:"estimator"`
	Features   string            `json:"features"`
	Unit       privacy.Unit      `json:"unit"`
	Epsilon    float64           `json:"epsilon"`
	Delta      float64           `json:"delta"`
	Classes    int               `json:"classes"`
	Sets       int               `json:"sets"`
	// Made is the skew of the sets that each party makes of its records; 0: a
	// party is a set.
	Made       float64            `json:"made,omitempty"`
	SetSize    float64            `json:"set_size"`
	Targets    int                `json:"targets"`
	TargetSize int                `json:"target_size"`
	Protocol   ratio.Protocol     `json:"protocol,omitempty"`
	Repeats    int                `json:"repeats"`
	L1         RatioL1            `json:"l1"`
	ByShare    []RatioShareResult `json:"by_share,omitempty"`
	// AE, RAE and NKLD are the released estimates' other errors; Coverage is how
	// often a class's interval, meant for 95 %, held its share.
	AE       float64 `json:"ae"`
	RAE      float64 `json:"rae"`
	NKLD     float64 `json:"nkld"`
	Coverage float64 `json:"coverage"`
	// Doubted is the share of targets that no mixture of the classes explained.
	Doubted   float64 `json:"doubted"`
	Condition float64 `json:"condition"`
	// Width is the kernel's γ times the pool's median squared distance.
	Width       float64  `json:"width"`
	UploadBytes float64  `json:"upload_bytes_per_party"`
	Warnings    []string `json:"warnings,omitempty"`
	// Refused counts repeats whose sets supported no estimate; they answer the
	// uniform shares.
	Refused int `json:"refused,omitempty"`
	// Release is the first repeat's, Targets its test sets.
	Release *study.Release `json:"-"`
}

// Check says what is wrong with a simulation before it starts.
func (s Ratio) Check() error {
	c := len(s.Plan.Schema.Label.Classes)
	for _, list := range [][][]float64{s.SetShares, s.TargetShares} {
		for _, shares := range list {
			sum := 0.
			for _, v := range shares {
				sum += v
			}
			if len(shares) != c || math.Abs(sum-1) > 1e-6 || slices.Min(shares) < 0 {
				return fmt.Errorf("simulate: the shares %v are not those of %d classes: give one number ≥ 0 a class, with sum 1", shares, c)
			}
		}
	}
	switch {
	case s.Terms.Estimator != "" && !slices.Contains(ratio.Estimators(), s.Terms.Estimator):
		return study.PlanError("ratio.estimator", "%q: use one of %v", s.Terms.Estimator, ratio.Estimators())
	case s.Sets < 1 || s.SetSize < 2:
		return fmt.Errorf("simulate: %d sets of %d records: give at least 1 set of 2", s.Sets, s.SetSize)
	case s.Targets < 1 || s.TargetSize < 1:
		return fmt.Errorf("simulate: %d targets of %d records: give at least 1 of 1", s.Targets, s.TargetSize)
	case s.Skew < 0 || s.Skew > 1:
		return fmt.Errorf("simulate: a skew of %v: give the share of each set's main class, or 0 for random shares", s.Skew)
	case s.Repeats < 1:
		return fmt.Errorf("simulate: %d repeats: give at least 1", s.Repeats)
	case s.Pool == nil && !(s.PoolFraction > 0 && s.PoolFraction < 1):
		return fmt.Errorf("simulate: the pool fraction is %v: give a share between 0 and 1, or a pool file", s.PoolFraction)
	}
	return nil
}

// ratioTrial is one target's outcome in one repeat.
type ratioTrial struct {
	share                           int // index into TargetShares
	released, unperturbed, training ratio.Error
	covered                         float64
	doubted                         bool
}

// Run simulates. The answer depends on the seed alone, not on scheduling.
func (s Ratio) Run(ctx context.Context) (RatioSummary, error) {
	if err := s.Check(); err != nil {
		return RatioSummary{}, err
	}
	s.Plan.Simulated = true
	terms := s.Terms
	out := RatioSummary{
		Study: s.Plan.Kind, Mechanism: s.Plan.Mechanism, Estimator: terms.Estimator, Features: terms.Features,
		Unit: s.Plan.Unit, Epsilon: s.Plan.Epsilon, Delta: s.Plan.Delta, Classes: len(s.Plan.Schema.Label.Classes),
		Sets: s.Sets, Targets: s.Targets, TargetSize: s.TargetSize, Repeats: s.Repeats,
	}
	if len(s.TargetShares) == 0 {
		out.Protocol = s.Protocol
	}
	if terms.Sets == studyratio.SetsMade {
		out.Made = terms.Skew
	}
	var trials []ratioTrial
	for i := range s.Repeats {
		some, err := s.once(ctx, i, &out)
		if err != nil {
			return RatioSummary{}, err
		}
		trials = append(trials, some...)
	}
	out.L1 = meanL1(trials, -1)
	for k, shares := range s.TargetShares {
		out.ByShare = append(out.ByShare, RatioShareResult{Shares: shares, L1: meanL1(trials, k)})
	}
	n := float64(len(trials))
	for _, t := range trials {
		out.AE += t.released.AE / n
		out.RAE += t.released.RAE / n
		out.NKLD += t.released.NKLD / n
		out.Coverage += t.covered / n
		if t.doubted {
			out.Doubted += 1 / n
		}
	}
	return out, nil
}

// meanL1 averages over trials of one share, or of all (−1).
func meanL1(trials []ratioTrial, share int) RatioL1 {
	var released, unperturbed, training []float64
	for _, t := range trials {
		if share < 0 || t.share == share {
			released = append(released, t.released.L1)
			unperturbed = append(unperturbed, t.unperturbed.L1)
			training = append(training, t.training.L1)
		}
	}
	out := RatioL1{Unperturbed: stat.Mean(unperturbed, nil), TrainingRatio: stat.Mean(training, nil), Released: stat.Mean(released, nil)}
	if len(released) > 1 {
		out.ReleasedSD = stat.StdDev(released, nil)
	}
	return out
}

func (s Ratio) once(ctx context.Context, index int, out *RatioSummary) ([]ratioTrial, error) {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(index)))
	private, poolRecords, test, err := Simulation{
		Train: s.Train, Test: s.Test, Pool: s.Pool, PoolFraction: s.PoolFraction, PoolRows: s.PoolRows,
	}.split(rng)
	if err != nil {
		return nil, err
	}
	p := s.Plan
	terms := s.Terms
	p.Seed = rng.Uint64()
	if p.Map, err = s.Map.Fit(p.Schema, poolRecords.X); err != nil {
		return nil, fmt.Errorf("simulate: project the pool: %w", err)
	}
	pool := auxdata.Virtual(poolRecords.X, p.Map)
	p.Pool = pool.Digest
	scale, err := studyratio.Scale(pool)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	terms.Gamma /= scale
	if err := terms.ChooseWidth(pool); err != nil {
		return nil, err
	}
	if err := p.SetTerms(terms); err != nil {
		return nil, err
	}
	if err := kinds.Check(p); err != nil {
		return nil, err
	}
	terms.SetSize, terms.MaxRecords = s.SetSize, max(terms.MaxRecords, s.SetSize)
	if err := p.SetTerms(terms); err != nil {
		return nil, err
	}
	sets, err := s.drawSets(private.Y, rng)
	if err != nil {
		return nil, err
	}
	for i := range sets {
		p.Roster = append(p.Roster, study.PartyID(fmt.Sprintf("party-%05d", i+1)))
	}
	p.Minimum = len(sets)

	run := ratioRun{plan: p, pool: pool, inputs: func(i int) study.Inputs {
		return study.Inputs{Records: private.Select(sets[i]), ShardKey: binary.BigEndian.AppendUint64(nil, p.Seed+uint64(i))}
	}, progress: func(done int) {
		if s.Progress != nil {
			s.Progress(index*len(sets)+done, s.Repeats*len(sets))
		}
	}}
	release, unperturbed, bytes, err := run.both(ctx)
	if err != nil {
		return nil, err
	}
	repeats, n := float64(s.Repeats), float64(len(sets))
	result, err := studyratio.ResultOf(release)
	if err != nil {
		return nil, err
	}
	out.UploadBytes += float64(bytes) / n / repeats
	out.Width += result.Gamma * scale / repeats
	out.Condition += result.Condition / repeats
	for _, rows := range sets {
		out.SetSize += float64(len(rows)) / n / repeats
	}
	if result.Model == nil {
		out.Refused++
	}
	if index == 0 {
		out.Sampler, out.Parameters = release.Costs[0].Mechanism, release.Costs[0].Parameters
		out.Release, out.Warnings = &release, release.Result.Warnings
	}
	return s.measure(release, unperturbed, private, sets, test, rng)
}

// drawSets deals disjoint sets of the wanted shares.
func (s Ratio) drawSets(y []int, rng *rand.Rand) ([][]int, error) {
	c := len(s.Plan.Schema.Label.Classes)
	byClass := make([][]int, c)
	for _, i := range rng.Perm(len(y)) {
		if y[i] >= 0 {
			byClass[y[i]] = append(byClass[y[i]], i)
		}
	}
	sets := make([][]int, s.Sets)
	for i := range sets {
		var shares []float64
		switch {
		case len(s.SetShares) > 0:
			shares = slices.Clone(s.SetShares[i%len(s.SetShares)])
		case s.Skew > 0:
			shares = make([]float64, c)
			for k := range shares {
				shares[k] = (1 - s.Skew) / float64(c-1)
			}
			shares[i%c] = s.Skew
		case s.Terms.Sets == studyratio.SetsMade:
			shares = ratio.SharesOfLabels(y, nil, c)
		default:
			shares = ratio.UniformShares(c, rng)
		}
		total := 0.
		for k := range shares {
			if len(byClass[k]) == 0 {
				shares[k] = 0
			}
			total += shares[k]
		}
		if total == 0 {
			return nil, fmt.Errorf("simulate: the records run out at set %d of %d: ask for fewer or smaller sets", i+1, s.Sets)
		}
		for k := range shares {
			n := min(int(math.Round(shares[k]/total*float64(s.SetSize))), len(byClass[k]))
			sets[i] = append(sets[i], byClass[k][:n]...)
			byClass[k] = byClass[k][n:]
		}
		if len(sets[i]) < 2 {
			return nil, fmt.Errorf("simulate: the records run out at set %d of %d: ask for fewer or smaller sets", i+1, s.Sets)
		}
	}
	return sets, nil
}

// targets draws test sets; share says at which of TargetShares.
func (s Ratio) targets(y []int, rng *rand.Rand) (samples []ratio.Sample, share []int, err error) {
	if len(s.TargetShares) == 0 {
		samples, err = ratio.SampleSets(y, ratio.Sampling{
			Protocol: s.Protocol, Classes: len(s.Plan.Schema.Label.Classes), Size: s.TargetSize, Sets: s.Targets,
		}, rng)
		return samples, make([]int, len(samples)), err
	}
	for k, shares := range s.TargetShares {
		for range s.Targets {
			sample, err := ratio.SampleAtShares(y, shares, s.TargetSize, rng)
			if err != nil {
				return nil, nil, err
			}
			samples, share = append(samples, sample), append(share, k)
		}
	}
	return samples, share, nil
}

// measure estimates every target with and without noise.
func (s Ratio) measure(release, unperturbed study.Release, private *dataset.Records, sets [][]int, test *dataset.Records, rng *rand.Rand) ([]ratioTrial, error) {
	c := len(s.Plan.Schema.Label.Classes)
	samples, share, err := s.targets(test.Y, rng)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	p, err := release.DecodedPlan()
	if err != nil {
		return nil, err
	}
	noisy, err := studyratio.ResultOf(release)
	if err != nil {
		return nil, err
	}
	clear, err := studyratio.ResultOf(unperturbed)
	if err != nil {
		return nil, err
	}
	training := ratio.SharesOfLabels(private.Y, slices.Concat(sets...), c)
	if noisy.Model != nil { // what is known of it
		training = noisy.TrainingShares
	}
	var out []ratioTrial
	for i, sample := range samples {
		t := ratioTrial{share: share[i], training: ratio.Measure(sample.Shares, training, len(sample.Rows))}
		records := test.Select(sample.Rows)
		for _, of := range []struct {
			result studyratio.Result
			to     *ratio.Error
		}{{noisy, &t.released}, {clear, &t.unperturbed}} {
			answer := ratio.Estimate{Shares: make([]float64, c), Low: make([]float64, c), High: make([]float64, c)}
			for k := range c {
				answer.Shares[k], answer.High[k] = 1/float64(c), 1
			}
			if of.result.Model != nil {
				if answer, err = of.result.Estimate(p, records); err != nil {
					return nil, err
				}
			}
			*of.to = ratio.Measure(sample.Shares, answer.Shares, len(sample.Rows))
			if of.to != &t.released {
				continue
			}
			for k, v := range sample.Shares {
				if answer.Low[k] <= v && v <= answer.High[k] {
					t.covered += 1 / float64(c)
				}
			}
			t.doubted = answer.Fit.Tested && answer.Fit.Statistic > answer.Fit.Threshold
		}
		out = append(out, t)
	}
	return out, nil
}

// ratioRun is one study among virtual parties.
type ratioRun struct {
	plan     study.Plan
	pool     *auxdata.Pool
	inputs   func(i int) study.Inputs
	progress func(done int)
}

// both drives the real machine, once under the plan and once, with the same
// drafts, under the mechanism none. It also returns the bytes sent.
func (r ratioRun) both(ctx context.Context) (release, unperturbed study.Release, bytes int64, err error) {
	none := r.plan
	none.Mechanism = "none"
	noisy, err := newRehearsal(r.plan, r.pool)
	if err != nil {
		return release, unperturbed, 0, err
	}
	clear, err := newRehearsal(none, r.pool)
	if err != nil {
		return release, unperturbed, 0, err
	}
	done := 0
	err = eachParty(ctx, len(r.plan.Roster), func(ctx context.Context, i int) (func() error, error) {
		draft, err := noisy.task.Contribute(r.inputs(i))
		if err == nil {
			err = ctx.Err()
		}
		return func() error {
			n, err := noisy.contribute(ctx, draft, i)
			if err != nil {
				return err
			}
			draft.Requests[0].Mechanism = privacy.Unperturbed{}
			if _, err = clear.contribute(ctx, draft, i); err != nil {
				return err
			}
			bytes += int64(n)
			done++
			r.progress(done)
			return nil
		}, err
	})
	if err != nil {
		return release, unperturbed, 0, err
	}
	if release, err = noisy.conclude(ctx); err != nil {
		return release, unperturbed, 0, err
	}
	unperturbed, err = clear.conclude(ctx)
	return release, unperturbed, bytes, err
}
