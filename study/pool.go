package study

import (
	"caucus/auxdata"
	"caucus/dataset"
)

// PoolOf makes a plan's public pool from a table. The caller compares the pool's digest with the
// plan's. The digest of a simulated plan's pool covers the encoded rows and not the table.
func PoolOf(p Plan, t *dataset.Table) (*auxdata.Pool, error) {
	made, _, err := auxdata.New(p.Schema, p.Map, t)
	if err != nil || !p.Simulated {
		return made, err
	}
	virtual := auxdata.NewSimulated(made.Encoded, p.Map)
	virtual.MissingMarked = made.MissingMarked
	if made.Weight != nil {
		return virtual.WithWeights(made.Weight)
	}
	return virtual, nil
}
