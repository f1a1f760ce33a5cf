package simulate_test

import (
	"runtime"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset/public"
	"caucus/study"
)

// TestRecordsTakeLittleMemory: during a simulation a record takes less memory than its encoded row,
// because parties' rows are encoded one party after the other.
func TestRecordsTakeLittleMemory(t *testing.T) {
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before, during := heap(), 0
	config := public.DefaultHospitalConfig()
	config.Records = 40_000
	table, schema := public.Hospitals(config)
	records, _, err := schema.EncodeLabelledLazily(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	table = nil
	_, err = simulate.Classify{
		Split:    simulate.Split{Schema: schema, Train: records, PoolFraction: .05, PoolRows: 500, Parties: 100, Seed: 1},
		Proposal: study.Proposal{Name: "memory", Kind: "classify", Epsilon: 1}, Repeats: 1,
		Progress: func(done, total int) {
			if done == total {
				during = heap() - before
			}
		},
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row := 8 * schema.Dim()
	if a := during / config.Records; a > row*3/4 {
		t.Errorf("%d bytes a record, an encoded row alone takes %d", a, row)
	} else {
		t.Logf("%d bytes a record, an encoded row alone takes %d", a, row)
	}
}
