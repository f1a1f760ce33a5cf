package study

import (
	"cmp"
	"math"

	"caucus/dataset"
	"caucus/learners"
)

// Work bounds what it takes a party to make its contribution, whatever its
// records say, in the steps of learners.Reference. It follows from plan, pool
// and the public number of records.
type Work struct {
	// Shards are trained one after the other; Shard bounds one of them.
	Shards int
	Shard  float64
	// Rest is everything else: one pass over the records, and what follows from
	// plan and pool alone.
	Rest float64
}

// Steps of one record: reading and encoding a cell, hashing a record with a key
// and sorting it, and a number of a map that has an exponential or a cosine.
const (
	CellSteps   = 1000
	keySteps    = 8000
	cosineSteps = 50
)

// workOf bounds what every kind does to so many records: it reads and maps them,
// and works on the pool.
//
// The bounds are of the code: sums (cross, means, entropy, embeddings, counts,
// labels) are one pass in which each record costs the same, whatever it holds;
// what a classifier may cost is learners.Work. logistic's search ends at its
// iterations (aggregation.SolveSurely) in practice and after a public number of
// steps in any case; the bound counts the former.
func (a agreed) workOf(records int) float64 {
	n, columns := float64(records), float64(a.plan.Schema.Dim())
	dim, rows, classes := float64(a.plan.Map.Dim()), float64(a.pool.Rows()), float64(len(a.plan.Schema.Classes()))
	return n*(columns*CellSteps+3*keySteps+mapSteps(a.plan.Map)) + rows*dim*(dim+classes)*4
}

func (t classifyTask) Work(records int) (Work, error) {
	p, n := t.plan, float64(records)
	dim, rows, classes := float64(p.Map.Dim()), float64(t.pool.Rows()), float64(len(p.Schema.Classes()))
	w := Work{Rest: t.workOf(records)}
	if !trains(p) {
		w.Rest += n * dim * classes * 8
		return w, nil
	}
	w.Shards = max(p.Shards, 1)
	var err error
	w.Shard, err = learners.Work(cmp.Or(p.Learner, DefaultLearner), learners.Size{
		Rows: shardRows(records, w.Shards), Mapped: p.Map.Dim(), Encoded: p.Schema.Dim(), Classes: len(p.Schema.Classes()), Votes: t.pool.Rows(),
	})
	w.Shard += float64(shardRows(records, w.Shards)) * mapSteps(p.Map)
	w.Rest += float64(w.Shards) * rows * 8 // their votes are added up
	if p.Mechanism == "moment" {
		w.Rest += rows * dim * classes * float64(w.Shards+8)
	}
	return w, err
}

func (t ratioTask) Work(records int) (Work, error) {
	w := Work{Rest: t.workOf(records) + float64(records)*float64(t.plan.Ratio.Fourier)*(float64(t.plan.Map.Dim())+cosineSteps)}
	if t.plan.Ratio.Expected != nil {
		w.Rest += dealingSteps(len(t.plan.Schema.Label.Classes))
	}
	return w, nil
}

func (l labelTask) Work(records int) (Work, error) {
	return Work{Rest: l.workOf(records) + float64(records)*float64(l.plan.Map.Dim())*16}, nil
}

func (t reweighTask) Work(records int) (Work, error) {
	n, rows, cells := float64(records), float64(t.pool.Rows()), float64(t.question.(*weigh).design.Cells()+1)
	w := Work{Rest: t.workOf(records) + n*cells*16}
	if t.plan.Mechanism == "logistic" {
		w.Rest += 1000*((n+rows)*(4*cells+40)+80*cells+4*cells*cells) + (n+rows)*cells*cells + cells*cells*cells
	}
	return w, nil
}

// trains says whether parties of a classify plan train classifiers.
func trains(p Plan) bool { return p.Mechanism != "cross" && p.Mechanism != "means" }

// shardRows is how many records a shard has at most: with keyed hashes it is
// more once in 10¹² times, where no patient has many.
func shardRows(records, shards int) int {
	if shards == 1 {
		return records
	}
	mean := float64(records) / float64(shards)
	return min(records, int(math.Ceil(2*mean+8*math.Sqrt(mean)+16)))
}

// mapSteps is what it takes to map a record: Map.Apply, and the map before it.
func mapSteps(m dataset.Map) float64 {
	steps := float64(m.Inputs)*float64(m.Dim()) + cosineSteps*float64(m.Dim())
	if m.Kind == dataset.IdentityMap || m.Kind == dataset.StandardMap {
		steps = 4 * float64(m.Dim())
	}
	if m.Patches != nil { // each patch is compared with each filter
		steps = float64(m.Inputs) * float64(m.Patches.Side*m.Patches.Side) * float64(len(m.Patches.Bias)+8)
	}
	if m.First != nil {
		steps += mapSteps(*m.First)
	}
	return steps
}
