package labels

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// TestLabelsUseTheKeptProbability: the fit uses the exact probability of the ledger's mechanism, a
// rational rounded towards 1/K, for any number of classes and any ε in range.
func TestLabelsUseTheKeptProbability(t *testing.T) {
	for _, classes := range []int{2, 3, 10, 256} {
		schema := dataset.Schema{
			Label:    dataset.Label{Column: "ill"},
			Features: []dataset.Feature{{Column: "age", Kind: dataset.Numeric, Max: 100}},
		}
		for k := range classes {
			schema.Label.Classes = append(schema.Label.Classes, fmt.Sprint("class ", k))
		}
		for _, epsilon := range []float64{1e-3, 0.5, 8, 64} {
			for _, mechanism := range Mechanisms() {
				p := study.Plan{Kind: "labels", Schema: schema, Unit: privacy.Label,
					Noise: study.NoiseSite, Epsilon: epsilon, Mechanism: mechanism}
				if err := p.SetTerms(DefaultTerms()); err != nil {
					t.Fatal(err)
				}
				if err := (Kind{}).Check(p); err != nil {
					t.Fatalf("%d classes, ε %g: %v", classes, epsilon, err)
				}
				released, err := releaseTerms(p)
				if err != nil {
					t.Fatal(err)
				}
				used, ok := new(big.Rat).SetString(privacy.ParametersOf(released.Mechanism)["keep"])
				if !ok {
					t.Fatal("no keep")
				}
				response, _ := responseOf(p)
				o, err := optionsOf(p, response)
				if err != nil {
					t.Fatal(err)
				}
				if want, _ := used.Float64(); o.Channel.Keep != want ||
					o.Channel.Classes != classes {
					t.Errorf("%s, %d classes, ε %g: corrected for %v, released with %v", mechanism, classes, epsilon, o.Channel.Keep, want)
				}
				spent := epsilon
				if mechanism == "em" {
					spent /= 2
				}
				odds := new(big.Float).SetPrec(400).SetRat(new(big.Rat).Quo(new(big.Rat).Mul(used,
					big.NewRat(int64(classes-1), 1)), new(big.Rat).Sub(big.NewRat(1, 1), used)))
				if x, _ := odds.Float64(); math.Log(x) > spent*(1+1e-15)+1e-15 {
					t.Errorf("%s, %d classes, ε %g: log odds %v", mechanism, classes, epsilon,
						math.Log(x))
				}
			}
		}
	}
}
