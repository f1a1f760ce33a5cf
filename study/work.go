package study

import (
	"caucus/dataset"
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
	CosineSteps = 50
)

// CommonWork bounds what every kind does to so many records: it reads them, asks the
// plan's condition of each, maps them, and works on the pool.
//
// The bounds are of the code: sums (cross, means, entropy, embeddings, counts,
// labels) are one pass in which each record costs the same, whatever it holds;
// what a classifier may cost is learners.Work. logistic's search ends at its
// iterations (aggregation.SolveSurely) in practice and after a public number of
// steps in any case; the bound counts the former.
func (a Agreed) CommonWork(records int) float64 {
	n, columns := float64(records), float64(a.plan.Schema.Dim())
	dim, rows, classes := float64(a.plan.Map.Dim()), float64(a.pool.Rows()), float64(len(a.plan.Schema.Classes()))
	return n*(columns*CellSteps+a.plan.whereSteps()+3*keySteps+MapSteps(a.plan.Map)) + rows*dim*(dim+classes)*4
}

// MapSteps is what it takes to map a record: Map.Apply, and the map before it.
func MapSteps(m dataset.Map) float64 {
	steps := float64(m.Inputs)*float64(m.Dim()) + CosineSteps*float64(m.Dim())
	if m.Kind == dataset.IdentityMap || m.Kind == dataset.StandardMap {
		steps = 4 * float64(m.Dim())
	}
	if m.Patches != nil { // each patch is compared with each filter
		steps = float64(m.Inputs) * float64(m.Patches.Side*m.Patches.Side) * float64(len(m.Patches.Bias)+8)
	}
	if m.First != nil {
		steps += MapSteps(*m.First)
	}
	return steps
}
