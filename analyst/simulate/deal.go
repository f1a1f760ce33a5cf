package simulate

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
)

// DealtData holds the data of one repeat: records divided into a public pool, virtual parties and a
// test set. Any number of plans can run on one DealtData, also at the same time. Its fields must
// not change after the first plan.
type DealtData struct {
	Schema dataset.Schema
	// Pool holds the public rows, N×Dim encoded. PoolWeight has positive weights; nil: equal.
	Pool       *mat.Dense
	PoolWeight []float64
	// Private holds the records of all parties. Parties lists the rows in Private of each party.
	Private *dataset.EncodedTable
	Parties [][]int
	// Voters are the parties' classifiers, if parties choose: party i has Voters[i mod
	// len(Voters)].
	Voters []Voter
	// Test is used only for measuring.
	Test *dataset.EncodedTable
	// Short says in words what was asked for beside what the records give, where they do not
	// suffice.
	Short []string
	// KeepComputations stores each party's computations for later plans that need the same
	// computations, such as plans with other budgets and mechanisms. It takes memory for each
	// party. The first plan with a number of shards decides which record is in which shard.
	KeepComputations bool

	public *dataset.EncodedTable // the rows of Pool
	marked *mat.Dense            // Pool with missing cells marked; nil: as Pool

	seed uint64     // seeds plans and, with a party's index, the party's draws
	rng  *rand.Rand // divides records and measures; also made from the seed

	// mu guards the fields below.
	mu        sync.Mutex
	mapped    map[dataset.Components]mappedPool
	localSums map[localSumKey]*localSums
	testX     map[*auxdata.Pool]*mat.Dense
}

type mappedPool struct {
	by   dataset.Map
	pool *auxdata.Pool
}

// Size returns the numbers of parties and of their records.
func (d *DealtData) Size() study.Size {
	s := study.Size{Parties: len(d.Parties)}
	for _, rows := range d.Parties {
		s.Records += len(rows)
	}
	return s
}

// compareSizes notes in Short that parties have fewer records than were asked for each; 0 asks for
// none.
func (d *DealtData) compareSizes(asked int) {
	least, most := len(d.Private.Y), 0
	for _, rows := range d.Parties {
		least, most = min(least, len(rows)), max(most, len(rows))
	}
	if least < asked {
		d.Short = append(d.Short, fmt.Sprintf("%d records were asked for each of %d parties, and the "+
			"records give %d to %d: what is printed is of these; give more records, or ask for fewer",
			asked, len(d.Parties), least, most))
	}
}

// Task makes a plan from a proposal by the steps of a real study, for the deal's parties and pool.
// The deal sets roster, minimum, sizes and seed. The plan is marked as simulated.
func (d *DealtData) Task(s study.Proposal) (study.Finisher, error) {
	fail := func(err error) (study.Finisher, error) { return nil, fmt.Errorf("simulate: %w", err) }
	s.Seed = d.seed
	p, err := complete(s, d.Schema, d.Size())
	if err != nil {
		return fail(err)
	}
	on, err := d.mapPool(p, s.Map)
	if err != nil {
		return fail(err)
	}
	p.Map = on.by
	if err := planning.SetPool(&p, on.pool); err != nil {
		return fail(err)
	}
	task, err := results.NewTask(p, on.pool)
	if err != nil {
		return fail(err)
	}
	return task, nil
}

// complete makes a plan from a proposal for virtual parties, without the terms that follow from the
// pool. The plan states a least number of records for each party only if the proposal does, because
// Deal knows each party's number.
func complete(s study.Proposal, schema dataset.Schema, size study.Size) (study.Plan, error) {
	s.Roster = virtualRoster(size.Parties)
	stated := s.Records
	if stated == 0 {
		s.Minimum = cmp.Or(s.Minimum, size.Parties)
	}
	s.Records = cmp.Or(stated, max(1, size.Records/max(size.Parties, 1)))
	p, err := planning.Complete(s, schema)
	if s.Minimum == 0 {
		p.Minimum = min(p.Minimum, size.Parties)
	}
	p.Records, p.Simulated = stated, true
	return p, err
}

func virtualRoster(parties int) (roster []study.PartyID) {
	for i := range parties {
		roster = append(roster, study.PartyID(fmt.Sprintf("party-%05d", i+1)))
	}
	return roster
}

// mapPool returns the pool under the plan's map, fitted once for all plans with the same map.
func (d *DealtData) mapPool(p study.Plan, c dataset.Components) (mappedPool, error) {
	c, err := planning.ChooseMap(p, d.Size(), c, d.Pool)
	if err != nil {
		return mappedPool{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if on, ok := d.mapped[c]; ok {
		return on, nil
	}
	var on mappedPool
	if on.by, err = d.fitComponents(c); err != nil {
		return on, err
	}
	on.pool = auxdata.NewSimulated(d.Pool, on.by)
	if d.marked != nil {
		on.pool.MissingMarked = d.marked
	}
	if d.PoolWeight != nil {
		if on.pool, err = on.pool.WithWeights(d.PoolWeight); err != nil {
			return on, err
		}
	}
	if d.mapped == nil {
		d.mapped = map[dataset.Components]mappedPool{}
	}
	d.mapped[c] = on
	return on, nil
}

// TestX returns the test records under a task's map.
func (d *DealtData) TestX(t study.Finisher) *mat.Dense {
	d.mu.Lock()
	defer d.mu.Unlock()
	x, ok := d.testX[t.Pool()]
	if !ok {
		if d.testX == nil {
			d.testX = map[*auxdata.Pool]*mat.Dense{}
		}
		x = mapped(t.Plan(), d.Test)
		d.testX[t.Pool()] = x
	}
	return x
}

// mapped maps records block by block, so that few are in memory as encoded rows.
func mapped(p study.Plan, records *dataset.EncodedTable) *mat.Dense {
	if records.Len() == 0 {
		return &mat.Dense{}
	}
	x := mat.NewDense(records.Len(), p.Map.Dim(), nil)
	for first, block := range records.Blocks() {
		x.Slice(first, first+block.Len(), 0, p.Map.Dim()).(*mat.Dense).Copy(p.MapRecords(block))
	}
	return x
}

func (d *DealtData) fitComponents(c dataset.Components) (dataset.Map, error) {
	m, err := c.Fit(d.Schema, d.Pool)
	if err != nil {
		return m, fmt.Errorf("project the pool: %w", err)
	}
	return m, nil
}

// siteKey is party i's secret, which a simulation makes from its seed.
func (d *DealtData) siteKey(i int) []byte {
	return binary.BigEndian.AppendUint64(nil, d.seed+uint64(i))
}

// Inputs are party i's records under its own made-up key, as Run gives them to its task. The same
// deal gives the same inputs.
func (d *DealtData) Inputs(i int) study.Inputs {
	in := study.NewInputs(d.Private.Select(d.Parties[i]), d.siteKey(i))
	in.Voter = d.voter(i).Voter
	return in
}

// inputs returns party i's inputs. If ctx ends, training stops and the run fails.
func (d *DealtData) inputs(ctx context.Context, i int) study.Inputs {
	in := d.Inputs(i)
	in.TimeLimit = func() (context.Context, func(bool)) { return ctx, func(bool) {} }
	return in
}

func (d *DealtData) voter(i int) Voter {
	if len(d.Voters) == 0 {
		return Voter{}
	}
	return d.Voters[i%len(d.Voters)]
}

// Voter is a party's classifier, with a name for summaries.
type Voter struct {
	Name string
	study.Voter
}
