package dataset_test

import (
	"testing"

	"caucus/dataset/public"
)

// TestBlocks: blocks cover the encoded columns, and encoded hospital records keep the properties of
// blocks, odd cells included.
func TestBlocks(t *testing.T) {
	config := public.DefaultHospitalConfig()
	config.Records = 500
	table, schema := public.Hospitals(config)
	records, _, err := schema.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, b := range schema.Blocks() {
		if b.Start != at || b.Width < 1 || (b.Width > 1 && !b.OneHot) {
			t.Fatalf("block %+v does not follow column %d", b, at)
		}
		at += b.Width
		for i := range records.Len() {
			sum, ones := 0.0, 0
			for _, v := range records.X.RawRowView(i)[b.Start : b.Start+b.Width] {
				if v < 0 {
					t.Fatalf("row %d of block %+v holds %v", i, b, v)
				}
				if v == 1 {
					ones++
				}
				sum += v
			}
			if sum > 1 || (b.OneHot && (sum != 1 || ones != 1)) {
				t.Fatalf("row %d of block %+v sums to %v with %d ones", i, b, sum, ones)
			}
		}
	}
	if at != schema.Dim() {
		t.Fatalf("blocks cover %d columns, the schema encodes %d", at, schema.Dim())
	}
}
