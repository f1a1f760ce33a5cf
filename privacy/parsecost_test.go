package privacy

import (
	"math/big"
	"testing"
)

func TestParseCost(t *testing.T) {
	for text, want := range map[string]Cost{
		"record:epsilon=1":    PureCost(Record, 0, big.NewRat(1, 1)),
		"party:rho=0.05":      ConcentratedCost(Party, 0, big.NewRat(1, 20)),
		"label:epsilon=1/3":   PureCost(Label, 0, big.NewRat(1, 3)),
		"record:epsilon=1e-3": PureCost(Record, 0, big.NewRat(1, 1000)),
	} {
		if got, err := ParseCost(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "record", "record:", "record:epsilon", "record:epsilon=",
		"record:epsilon=0", "record:epsilon=-1", "record:delta=1", "house:epsilon=1",
		"record:epsilon=x"} {
		if _, err := ParseCost(text); err == nil {
			t.Errorf("%q is not refused", text)
		}
	}
}
