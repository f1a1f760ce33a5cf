package study

import (
	"caucus/dataset"
)

// Work bounds a contribution's work in steps (learners.RunReference), whatever the records' values.
// The bound follows from plan, pool and the public number of records.
type Work struct {
	Shards     int     // number of shards that a party trains on, one after the other
	ShardSteps float64 // bounds the steps of training on one shard
	// bounds the steps of one pass over the records, and of work on plan and pool
	OtherSteps float64
}

const (
	CellSteps   = 1000 // steps of reading a cell of text
	columnSteps = 100  // steps of decoding a value of an encoded column
	keySteps    = 8000 // steps of hashing a record with a key and sorting it
	CosineSteps = 50   // steps of an exponential or cosine in a map
)

// MapSteps bounds the work of Map.Apply on one record, in steps, with the map before this one
// (Map.Inner).
func MapSteps(m dataset.Map) float64 {
	steps := float64(m.Inputs)*float64(m.Dim()) + CosineSteps*float64(m.Dim())
	if m.Kind == dataset.IdentityMap || m.Kind == dataset.StandardMap {
		steps = 4 * float64(m.Dim())
	}
	if m.Inner != nil {
		steps += MapSteps(*m.Inner)
	}
	return steps
}
