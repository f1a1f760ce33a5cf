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
