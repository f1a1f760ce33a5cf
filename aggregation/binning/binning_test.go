package binning

import (
	"math"
	"testing"
)

// TestBins: a score lies between its bin's edges; one on an edge, or off it by rounding alone, is
// above it.
func TestBins(t *testing.T) {
	e := Edges{-1.5, 0, LogOdds(.75)}
	if e.Bins() != 4 || Edges(nil).Bins() != 1 || Edges(nil).Bin(7) != 0 {
		t.Fatalf("%d bins of three edges, %d of none", e.Bins(), Edges(nil).Bins())
	}
	for z, want := range map[float64]int{
		-9: 0, -1.6: 0, -1.5: 1, -1e-8: 1, -1e-10: 2, 0: 2, 1.0986: 2, math.Log(3): 3,
		math.Nextafter(math.Log(3), 0): 3, 1e12: 3, LogOdds(1): 3, LogOdds(0): 0,
	} {
		if got := e.Bin(z); got != want {
			t.Errorf("score %v is in bin %d, want %d", z, got, want)
		}
	}
}
