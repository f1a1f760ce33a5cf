package simulate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distmv"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds"
)

// Split says how records become a public pool, virtual parties' records and a test set.
type Split struct {
	Schema dataset.Schema
	// Train holds the parties' records and, if Pool is nil, the pool's. If Test is nil, it is taken
	// from Train first: a quarter of the records or, with TestParties, all records of a quarter of
	// the parties, so that no party is in both.
	Train, Test, Pool *dataset.EncodedTable
	TestParties       bool
	// PoolWeight has a positive weight for each row of Pool; nil means equal weights.
	PoolWeight []float64
	// PoolFraction is the share of Train that becomes the pool, at most PoolRows rows (0: no
	// limit).
	PoolFraction float64
	PoolRows     int
	// Parties is the number of parties, which get random equal parts of the records. If it is 0,
	// the party column says who has which records.
	Parties int
	// Records is the most records that a party gets; 0 means no limit.
	Records int
	// Concentration, if above 0, divides classes unevenly: the parties' shares of each class have a
	// Dirichlet distribution with this parameter, so that some parties have mostly one class and
	// sizes differ (Hsu, Qi & Brown 2019).
	Concentration float64
	// Voters are the parties' classifiers if a plan lets parties choose (learners.AnyClassifier):
	// parties take them in turn. If there are none, all parties use the default classifier.
	Voters []Voter
	Seed   uint64
}

// Check refuses an invalid split before any record is assigned.
func (s Split) Check() error {
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
		return fmt.Errorf("simulate: no training record has a label that the schema knows and meets the condition: check the schema's label column and classes, and where")
	case len(seen) < 2:
		return fmt.Errorf("simulate: all training records have class %q: at least two classes are needed: check where, and the file", s.Schema.Classes()[slices.Max(slices.Collect(maps.Keys(seen)))])
	case s.Parties < 0:
		return fmt.Errorf("simulate: %d parties: give at least 1", s.Parties)
	case s.Records < 0:
		return fmt.Errorf("simulate: %d records a party: give at least 1, or 0 for all", s.Records)
	case s.Parties == 0 && !s.Train.HasParty():
		return fmt.Errorf("simulate: give the number of parties, or name a party column")
	case s.TestParties && s.Test != nil:
		return fmt.Errorf("simulate: there are test records already: hold no parties out")
	case s.TestParties && len(partiesOf(s.Train)) < 4:
		return fmt.Errorf("simulate: the records name %d parties, a quarter of which cannot be held out: name a party column with at least 4", len(partiesOf(s.Train)))
	}
	return s.checkPool()
}

func (s Split) checkPool() error {
	if s.Pool == nil && !(s.PoolFraction > 0 && s.PoolFraction < 1) {
		return fmt.Errorf("simulate: the pool fraction is %v: give a share between 0 and 1, or a pool file", s.PoolFraction)
	}
	return nil
}

// CheckProposal refuses a proposal that is invalid for the split's parties, before any record is
// assigned. It ignores the map, which follows from the pool.
func (s Split) CheckProposal(of study.Proposal) error {
	parties := s.Parties
	if parties == 0 {
		parties = len(partiesOf(s.Train))
	}
	return checkProposal(of, s.Schema, study.Size{Parties: parties, Records: s.Train.Len()})
}

func checkProposal(s study.Proposal, schema dataset.Schema, size study.Size) error {
	p, err := complete(s, schema, size)
	if err != nil {
		return err
	}
	return kinds.Check(p)
}

// Deal divides the records of a repeat. The result depends only on the seed and the repeat.
func (s Split) Deal(repeat int) (*DealtData, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s.dealt(repeat)
}

func (s Split) dealt(repeat int) (*DealtData, error) {
	d, err := s.divide(repeat)
	if err != nil {
		return nil, err
	}
	if d.Parties, err = s.deal(d.Private, d.rng); err != nil {
		return nil, err
	}
	for i, rows := range d.Parties {
		if s.Records > 0 && len(rows) > s.Records {
			d.Parties[i] = rows[:s.Records]
		}
	}
	d.compareSizes(s.Records)
	d.seed = d.rng.Uint64()
	return d, nil
}

// divide sets the test set and the pool aside. It assigns no records to parties.
func (s Split) divide(repeat int) (*DealtData, error) {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(repeat)))
	d := &DealtData{Schema: s.Schema, Test: s.Test, PoolWeight: s.PoolWeight, Voters: s.Voters,
		rng: rng}
	rows := rng.Perm(s.Train.Len())
	switch {
	case s.TestParties:
		var test []int
		test, rows = s.heldOut(rows, rng)
		d.Test = s.Train.Subset(test)
	case s.Test == nil:
		n := len(rows) / 4
		d.Test, rows = s.Train.Subset(rows[:n]), rows[n:]
	}
	pool := s.Pool
	if pool == nil {
		n := int(math.Round(s.PoolFraction * float64(len(rows))))
		if n < 1 || n >= len(rows) {
			return nil, fmt.Errorf("simulate: a pool fraction of %v leaves %d rows for the pool and %d for the parties: change it", s.PoolFraction, n, len(rows)-n)
		}
		private := rows[n:]
		if s.PoolRows > 0 {
			n = min(n, s.PoolRows)
		}
		pool, rows = s.Train.Subset(rows[:n]), private
	}
	d.Pool, d.Private, d.public = pool.All().X, s.Train.Subset(rows), pool
	return d, nil
}

func (s Split) heldOut(rows []int, rng *rand.Rand) (test, rest []int) {
	names, of := partiesOf(s.Train), s.Train.Party()
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:len(names)/4]
	for _, row := range rows {
		if slices.Contains(names, of[row]) {
			test = append(test, row)
		} else {
			rest = append(rest, row)
		}
	}
	return test, rest
}

func partiesOf(r *dataset.EncodedTable) []string {
	names := slices.Clone(r.Party())
	slices.Sort(names)
	return slices.Compact(names)
}

func (s Split) deal(private *dataset.EncodedTable, rng *rand.Rand) ([][]int, error) {
	switch {
	case s.Parties == 0:
		return dealNatural(private.Party()), nil
	case s.Concentration > 0:
		return dealSkewed(private.Y, s.Parties, s.Concentration, rng), nil
	case s.Parties > private.Len():
		return nil, fmt.Errorf("simulate: %d parties for %d records: give at most as many parties as records", s.Parties, private.Len())
	}
	return dealEvenly(rng.Perm(private.Len()), s.Parties), nil
}

func dealNatural(party []string) (out [][]int) {
	of := map[string][]int{}
	for i, name := range party {
		of[name] = append(of[name], i)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[name])
	}
	return out
}

func dealEvenly(rows []int, parties int) [][]int {
	out := make([][]int, parties)
	for i, row := range rows {
		out[i%parties] = append(out[i%parties], row)
	}
	return out
}

// dealSkewed divides each class by shares of its own. Records of unknown class go to any party.
func dealSkewed(y []int, parties int, concentration float64, rng *rand.Rand) [][]int {
	alpha := make([]float64, parties)
	for i := range alpha {
		alpha[i] = concentration
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
