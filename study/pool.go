package study

import (
	"caucus/auxdata"
	"caucus/dataset"
)

// PoolOf is a table as the public pool of a plan: under its schema and map, and
// with the table's weights if it has them. Whether it is the pool that the plan
// is about, its digest says. A simulated plan names its pool by the encoded rows.
func PoolOf(p Plan, t *dataset.Table) (*auxdata.Pool, error) {
	made, _, err := auxdata.New(p.Schema, p.Map, t)
	if err != nil || !p.Simulated {
		return made, err
	}
	virtual := auxdata.Virtual(made.Encoded, p.Map)
	if made.Weight != nil {
		return virtual.Weighted(made.Weight)
	}
	return virtual, nil
}
