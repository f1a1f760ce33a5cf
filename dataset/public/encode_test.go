package public

import (
	"testing"
)

func BenchmarkEncodeKDD(b *testing.B) {
	k, err := LoadKnownDataset("kddcup99")
	if err != nil {
		b.Fatal(err)
	}
	dir := realData(b)
	table, err := k.Load(dir, "train")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := k.Load(dir, "train"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := k.Schema.Encode(table); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeParty(b *testing.B) {
	c := DefaultHospitalConfig()
	table, s := Hospitals(c)
	rows := make([]int, 100)
	for i := range rows {
		rows[i] = i * 7
	}
	part := table.Select(rows)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Encode(part); err != nil {
			b.Fatal(err)
		}
	}
}
