package helper_test

import (
	"fmt"
	"os"
	"path/filepath"

	"caucus/aggregator/helper"
	"caucus/privacy"
	"caucus/study"
)

// A policy lists the studies that a helper serves, and says why it refuses another.
func ExamplePolicy_Check() {
	p := helper.Policy{
		Kinds: []string{"describe"}, Mechanisms: []string{"laplace"}, MinimumParties: 3,
		Study: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1, Delta: 1e-6}},
	}
	plan := study.Plan{Kind: "describe", Mechanism: "laplace", Unit: privacy.Record, Epsilon: 2,
		Noise: study.NoiseAggregators, Minimum: 4}
	fmt.Println(p.Check(plan))
	plan.Epsilon = 0.5
	fmt.Println(p.Check(plan))
	// Output:
	// policy: study: a study at unit record may cost ε = 1, δ = 1e-06 here, the plan costs ε = 2, δ = 0
	// <nil>
}

// A helper starts only once it knows its coordinator.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "helper")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "helper")
	if _, err := helper.Init(helper.InitOptions{Dir: folder, Listen: "127.0.0.1:0"}); err != nil {
		panic(err)
	}
	c, err := helper.LoadConfig(folder)
	if err != nil {
		panic(err)
	}
	_, err = helper.New(c)
	fmt.Println(err)
	// Output:
	// start helper: coordinator: helper.yaml names none: its operator gives the key, which caucus helper keys prints
}
