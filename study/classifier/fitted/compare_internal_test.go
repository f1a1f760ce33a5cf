package fitted

import (
	"slices"
	"testing"

	"caucus/dataset"
)

// Each patient is on one side of a fold, each record is judged once, and the parts have about the
// same size.
func TestFoldsKeepPatients(t *testing.T) {
	records := &dataset.Records{}
	for i := range 200 {
		records.Y = append(records.Y, i%2)
		records.Patient = append(records.Patient, string(rune('A'+i%40)))
	}
	seen, fold := make([]int, records.Len()), map[string]int{}
	for f, rows := range foldsOf(records) {
		if len(rows) < 20 || len(rows) > 60 {
			t.Errorf("part %d has %d of 200 records", f, len(rows))
		}
		for _, i := range rows {
			seen[i]++
			if known, ok := fold[records.Patient[i]]; ok && known != f {
				t.Errorf("patient %s is in parts %d and %d", records.Patient[i], known, f)
			}
			fold[records.Patient[i]] = f
		}
	}
	if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
		t.Error("a record is judged never or twice")
	}
}
