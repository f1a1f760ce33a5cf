package dataset_test

import (
	"math"
	"testing"

	"caucus/dataset"
	"caucus/dataset/public"
)

// TestDecode: encoding, decoding and encoding again gives the same rows.
func TestDecode(t *testing.T) {
	config := public.DefaultHospitalConfig()
	config.Records = 300
	table, schema := public.Hospitals(config)
	schema.Features = append(schema.Features,
		dataset.Feature{Column: "extra", Kind: dataset.Numeric, Min: 0, Max: 3, Log: true, FlagMissing: true})
	cells := []string{"", "0", "3", "1.23456", "-4", "soup"}
	rows := make([][]string, table.Rows())
	names := append(table.Columns(), "extra")
	for i := range rows {
		for _, name := range table.Columns() {
			c, _ := table.Cell(i, name)
			rows[i] = append(rows[i], c)
		}
		rows[i] = append(rows[i], cells[i%len(cells)])
	}
	table, err := dataset.NewTable(names, rows)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := schema.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := schema.Decode(want.X)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := schema.Encode(decoded)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Len() {
		for j, v := range want.X.RawRowView(i) {
			if math.Abs(got.X.At(i, j)-v) > 1e-4 {
				t.Fatalf("row %d, %s: have %v, want %v", i, schema.FeatureNames()[j],
					got.X.At(i, j), v)
			}
		}
	}
}
