package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classify"
	"caucus/study/kinds"
)

// Draw is one repeat of a simulation, kept open: records dealt to pool, parties
// and test, and whatever the parties computed of their own. A comparison asks
// it for many releases; parties train once for all of them. For a plan and a
// repeat of Simulation.Run it makes the same release. Safe for concurrent use;
// nobody may change what its fields hold.
type Draw struct {
	// Plan has everything that the data decide: schema, map, pool digest,
	// roster, minimum, seed.
	Plan study.Plan
	Pool *auxdata.Pool
	// Private are the parties' records, X the same mapped; Parties are the
	// rows of each party.
	Private *dataset.Records
	X       *mat.Dense
	Parties [][]int
	// TestX are the mapped test records, TestY their classes.
	TestX *mat.Dense
	TestY []int

	mu    sync.Mutex
	local map[string]*localMemory
}

// localMemory is what each party computed, once.
type localMemory struct {
	once    sync.Once
	vectors [][]int64
	weights []int64

	clear sync.Once
	sum   []byte              // of the contributions in clear
	names [][sha256.Size]byte // their bodies' digests
	bytes int                 // their bodies' lengths together
	err   error
}

// Skew is how unevenly classes are dealt to parties: party shares of each class
// are Dirichlet(Concentration, ...), so that some parties see mostly one class
// and sizes differ (Hsu, Qi & Brown 2019). 0 deals at random in equal parts.
type Skew struct{ Concentration float64 }

// Draw deals repeat index.
func (s Simulation) Draw(index int, skew Skew) (*Draw, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(s.Seed, uint64(index)))
	private, pool, test, err := s.split(rng)
	if err != nil {
		return nil, err
	}
	d := &Draw{Private: private, Plan: s.Plan, TestY: test.Y, local: map[string]*localMemory{}}
	if skew.Concentration > 0 && s.Parties > 0 {
		d.Parties = dealSkewed(private.Y, s.Parties, skew, rng)
	} else if d.Parties, err = s.deal(private, rng); err != nil {
		return nil, err
	}
	p := &d.Plan
	p.Simulated = true
	p.Seed = rng.Uint64()
	p.Roster, p.Minimum = virtualRoster(len(d.Parties)), len(d.Parties)
	if p.Map, err = kinds.FitMap(*p, study.Size{Parties: len(d.Parties), Records: private.Len()}, s.Map, pool.X); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	d.Pool = auxdata.Virtual(pool.X, p.Map)
	p.Pool = d.Pool.Digest
	d.X, d.TestX = p.Mapped(private), p.Mapped(test)
	return d, nil
}

// dealSkewed deals each class by shares of its own; records of unknown class
// go anywhere.
func dealSkewed(y []int, parties int, skew Skew, rng *rand.Rand) [][]int {
	alpha := make([]float64, parties)
	for i := range alpha {
		alpha[i] = skew.Concentration
	}
	dirichlet := distmv.NewDirichlet(alpha, rng)
	shares := map[int][]float64{}
	out := make([][]int, parties)
	for _, i := range rng.Perm(len(y)) {
		if shares[y[i]] == nil {
			shares[y[i]] = dirichlet.Rand(nil)
		}
		u, to := rng.Float64(), 0
		for to < parties-1 && !(u < shares[y[i]][to]) {
			u -= shares[y[i]][to]
			to++
		}
		out[to] = append(out[to], i)
	}
	return out
}

// Terms fills in a plan: terms says mechanism, unit, budget, noise, shards and
// so on, the draw the rest.
func (d *Draw) Terms(terms study.Plan) study.Plan {
	p := terms
	p.Name, p.Kind, p.Simulated = d.Plan.Name, "classify", true
	p.Schema, p.Map, p.Pool, p.Roster, p.Minimum, p.Seed = d.Plan.Schema, d.Plan.Map, d.Plan.Pool, d.Plan.Roster, d.Plan.Minimum, d.Plan.Seed
	p.Shards = max(p.Shards, 1)
	return p
}

// Outcome is a release with what it took.
type Outcome struct {
	Release study.Release
	// Values are the noisy counts that a tally made by the coordinator
	// published, nil otherwise.
	Values []float64
	// UploadBytes is the mean size of a contribution's body.
	UploadBytes float64
}

// Release drives the real machine under these terms: contributions, sealing,
// ledgers, noise, fit.
func (d *Draw) Release(ctx context.Context, terms study.Plan) (Outcome, error) {
	p := d.Terms(terms)
	r, err := newRehearsal(p, d.Pool)
	if err != nil {
		return Outcome{}, err
	}
	sent, err := d.contribute(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{UploadBytes: float64(sent) / float64(len(p.Roster))}
	if out.Release, err = r.conclude(ctx); err != nil {
		return Outcome{}, err
	}
	if p.Mechanism != "tally" || p.Noise != study.NoiseCoordinator {
		return out, nil
	}
	// The ledger answers a second time with what it published before.
	_, published, err := r.study.Settle(ctx, r.sum, r.ledger)
	if err != nil {
		return Outcome{}, err
	}
	for _, v := range published[0].Values {
		out.Values = append(out.Values, float64(v))
	}
	return out, nil
}

// contribute sends every party's contribution and returns their bytes.
// Contributions in clear do not depend on the budget: they are encoded, checked
// and added once for all releases.
func (d *Draw) contribute(ctx context.Context, r *rehearsal) (int, error) {
	p := r.study.Plan
	statistic, ok := bodies.Of(r.task)
	if !ok {
		return 0, fmt.Errorf("simulate: kind %q has no statistic that adds up", p.Kind)
	}
	q, local := statistic.Statistic, d.locals(statistic)
	if p.Noise == study.NoiseCoordinator {
		local.clear.Do(func() { local.err = local.fold(q) })
		if local.err != nil {
			return 0, local.err
		}
		for i, party := range p.Roster {
			if _, err := r.study.Step(study.Contributed{Party: party, Plan: r.study.Hash, Body: local.names[i]}); err != nil {
				return 0, fmt.Errorf("simulate party %d: %w", i+1, err)
			}
		}
		return local.bytes, r.sum.UnmarshalBinary(local.sum)
	}
	sent := 0
	for i := range p.Roster {
		var n int
		draft, err := statistic.AtSite(local.vectors[i], local.weights[i])
		if err == nil {
			n, err = r.contribute(ctx, draft, i)
		}
		if err != nil {
			return 0, fmt.Errorf("simulate party %d: %w", i+1, err)
		}
		sent += n
	}
	return sent, nil
}

// fold adds the contributions in clear.
func (m *localMemory) fold(q bodies.Statistic) (err error) {
	sum := bodies.NewClearSum(q)
	for i, v := range m.vectors {
		body, err := q.AppendClear(v, m.weights[i])
		if err == nil {
			err = sum.Add(body)
		}
		if err != nil {
			return fmt.Errorf("simulate party %d: %w", i+1, err)
		}
		m.names, m.bytes = append(m.names, sha256.Sum256(body)), m.bytes+len(body)
	}
	m.sum, err = sum.MarshalBinary()
	return err
}

// locals is each party's share of the statistic. All mechanisms made of votes
// share theirs.
func (d *Draw) locals(s bodies.Task) *localMemory {
	p := s.Plan()
	key := fmt.Sprintf("%s %d %s", classify.Computes(p.Mechanism), p.Shards, p.Learner)
	d.mu.Lock()
	m, ok := d.local[key]
	if !ok {
		m = &localMemory{}
		d.local[key] = m
	}
	d.mu.Unlock()
	m.once.Do(func() {
		for i, rows := range d.Parties {
			v, w := s.Local(study.Inputs{
				Records:  d.Private.Select(rows),
				ShardKey: binary.BigEndian.AppendUint64(nil, p.Seed+uint64(i)),
				Rng:      rand.New(rand.NewPCG(p.Seed, uint64(i))),
			})
			m.vectors, m.weights = append(m.vectors, v), append(m.weights, w)
		}
	})
	return m
}

// Votes is the tally without noise under these terms: what a comparator that
// counts votes its own way starts from.
func (d *Draw) Votes(terms study.Plan) (*aggregation.Tally, error) {
	terms.Mechanism = "none"
	p := d.Terms(terms)
	task, err := kinds.NewTask(p, d.Pool)
	if err != nil {
		return nil, err
	}
	statistic, _ := bodies.Of(task)
	local := d.locals(statistic)
	sum, ballots := []int64(nil), int64(0)
	for i, vector := range local.vectors {
		if sum == nil {
			sum = make([]int64, len(vector))
		}
		for j, v := range vector {
			sum[j] += v
		}
		ballots += local.weights[i]
	}
	return aggregation.TallyOf(sum, d.Pool.Rows(), len(p.Schema.Classes()), ballots), nil
}

// Alone is the mean accuracy of what each of the first parties, at most so
// many, reaches with its own records.
func (d *Draw) Alone(learner string, most int) float64 {
	p := d.Plan
	p.Learner = learner
	n := min(most, len(d.Parties))
	total := 0.0
	for i := range n {
		rng := rand.New(rand.NewPCG(p.Seed, uint64(i)))
		if model, _ := classify.TrainLocal(context.Background(), p, d.Private.Select(d.Parties[i]), rng, false); model != nil {
			total += accuracy(model.Predict(d.TestX), d.TestY) / float64(n)
		}
	}
	return total
}

// Majority is the share of the largest class among the test records.
func (d *Draw) Majority() float64 {
	best := 0.0
	for k := range d.Plan.Schema.Classes() {
		constant := make([]int, len(d.TestY))
		for i := range constant {
			constant[i] = k
		}
		best = math.Max(best, accuracy(constant, d.TestY))
	}
	return best
}

// Score is the share of test records that a released classifier labels
// correctly.
func (d *Draw) Score(r study.Result) (float64, error) {
	c, ok := classifier.Of(r)
	if !ok {
		return 0, fmt.Errorf("score a release: it holds no classifier")
	}
	model, err := c.Linear()
	if err != nil {
		return 0, err
	}
	return accuracy(model.Predict(d.TestX), d.TestY), nil
}
