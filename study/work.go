package study

import (
	"caucus/dataset"
)

// Work bounds the steps (learners.Reference) of a contribution, whatever the records' values. It
// follows from plan, pool and the public number of records.
type Work struct {
	Shards int // trained one after the other; Shard bounds the steps of each
	Shard  float64
	Rest   float64 // steps of one pass over the records, and of work on plan and pool
}

// Steps per record: reading a cell of text; decoding an encoded column; hashing a record with a key and
// sorting it; an exponential or cosine in a map.
const (
	CellSteps   = 1000
	columnSteps = 100
	keySteps    = 8000
	CosineSteps = 50
)

// MapSteps bounds the steps of mapping a record: Map.Apply, and a map before it.
func MapSteps(m dataset.Map) float64 {
	steps := float64(m.Inputs)*float64(m.Dim()) + CosineSteps*float64(m.Dim())
	if m.Kind == dataset.IdentityMap || m.Kind == dataset.StandardMap {
		steps = 4 * float64(m.Dim())
	}
	if m.First != nil {
		steps += MapSteps(*m.First)
	}
	return steps
}
