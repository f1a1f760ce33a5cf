package classify

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// patients are records of so many patients, two of each, labels 0, 1 and none in turn.
func patients(n int) *dataset.Records {
	r := &dataset.Records{X: mat.NewDense(2*n, 1, nil)}
	for i := range 2 * n {
		r.X.Set(i, 0, float64(i))
		r.Y, r.Patient = append(r.Y, i%3-1), append(r.Patient, fmt.Sprint(i/2))
	}
	return r
}

// TestPatientsStayTogether: all records of a patient are in one shard.
func TestPatientsStayTogether(t *testing.T) {
	records := patients(500)
	shard := map[string]int{}
	for s, rows := range shardsOf(study.Plan{Unit: privacy.Record, Shards: 7}, study.Inputs{Records: records, ShardKey: []byte("key")}) {
		for _, i := range rows {
			if had, ok := shard[records.Patient[i]]; ok && had != s {
				t.Fatalf("patient %s is in shards %d and %d", records.Patient[i], had, s)
			}
			shard[records.Patient[i]] = s
		}
	}
	if len(shard) != 500 {
		t.Errorf("%d patients are in shards, want 500", len(shard))
	}
}

// TestUnlabelledTrainNothing: every record with a label is in one shard, and no other is
// in any, so that no shard takes longer for the empty ones that fill up a file.
func TestUnlabelledTrainNothing(t *testing.T) {
	records := patients(30)
	for _, shards := range []int{1, 4} {
		var all []int
		for _, rows := range shardsOf(study.Plan{Unit: privacy.Record, Shards: shards}, study.Inputs{Records: records, ShardKey: []byte("key")}) {
			all = append(all, rows...)
		}
		slices.Sort(all)
		var want []int
		for i, y := range records.Y {
			if y >= 0 {
				want = append(want, i)
			}
		}
		if !slices.Equal(all, want) {
			t.Errorf("%d shards learn from rows %v, want %v", shards, all, want)
		}
	}
}
