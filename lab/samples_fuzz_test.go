package main

import (
	"bytes"
	"testing"
)

// FuzzReadSamples: a file of another tool is refused or names rows that exist.
func FuzzReadSamples(f *testing.F) {
	f.Add([]byte("prevalence_0,prevalence_1,index\n0.5,0.5,0 3\n1,0,2\n"))
	f.Add([]byte("index\n\"1 1\"\n"))
	y := []int{0, 1, 0, 1, -1}
	f.Fuzz(func(t *testing.T, text []byte) {
		samples, err := readSamples(bytes.NewReader(text), y, 2)
		if err != nil {
			return
		}
		for _, s := range samples {
			for _, r := range s.Rows {
				if r < 0 || r >= len(y) {
					t.Fatalf("row %d of %d", r, len(y))
				}
			}
		}
	})
}
