package audit_test

import (
	"fmt"
	"math/rand/v2"

	"caucus/privacy/audit"
)

// A coin keeps a bit with probability .9 and claims ε = 1. Its real ε is log 9 = 2.2.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	keeps := func(probability float64) audit.Draw {
		return audit.Integers(func(neighbour int) []int64 {
			if rng.Float64() < probability {
				return []int64{int64(neighbour)}
			}
			return []int64{int64(1 - neighbour)}
		})
	}
	a := audit.Default()
	for _, probability := range []float64{.9, .7} {
		f, err := a.Run(keeps(probability))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("kept with probability %v: refuted %t\n", probability, f.Exceeds(1))
	}
	// Output:
	// kept with probability 0.9: refuted true
	// kept with probability 0.7: refuted false
}

// The second answer repeats the noise of the first.
func ExampleDependence() {
	rng := rand.New(rand.NewPCG(3, 4))
	noise := func() audit.Noise {
		n := audit.Noise{Law: "a die of -2 to 2", Chance: .2, Run: 1}
		for range 100 {
			y := rng.Int64N(5) - 2
			n.Numbers = append(n.Numbers, y)
			n.Score = append(n.Score, float64(y)/2)
		}
		return n
	}
	first := noise()
	for _, second := range []audit.Noise{noise(), first} {
		f, err := audit.DefaultDependence().Run([]audit.Noise{first, second})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("hangs together:", f.Dependent)
	}
	// Output:
	// hangs together: false
	// hangs together: true
}
