package study

import (
	"fmt"
	"slices"
)

// Noise is where the noise of a study is added. Its methods say what code elsewhere asks
// of a setting; nothing outside this package compares with the constants. What a party sends
// has noise already (AtSite), is split (Shared) or is exact (InClear): one of the three holds
// of every known setting.
type Noise string

const (
	// NoiseSite: each agent, through its own ledger, before anything leaves.
	NoiseSite Noise = "site"
	// NoiseCoordinator: the coordinator, once, on the sum.
	NoiseCoordinator Noise = "coordinator"
	// NoiseAggregators: the coordinator and an independent helper, each in full, on its own
	// secret share of the sum.
	NoiseAggregators Noise = "aggregators"
)

// Servers are the two of NoiseAggregators: each releases its own share of the sum with
// noise of its own, so two independent noises are in what they add up to.
const Servers = 2

// Noises are all settings.
func Noises() []Noise { return []Noise{NoiseSite, NoiseCoordinator, NoiseAggregators} }

// Validate refuses what is none of Noises, and names those.
func (n Noise) Validate() error {
	all := Noises()
	if slices.Contains(all, n) {
		return nil
	}
	last := len(all) - 1
	want := fmt.Sprintf("%q", all[0])
	for _, k := range all[1:last] {
		want += fmt.Sprintf(", %q", k)
	}
	return fmt.Errorf("%q: want %s or %q", n, want, all[last])
}

// AtSite says whether each agent adds noise through its own ledger, so that servers sum what
// is released already and their ledgers are charged nothing.
func (n Noise) AtSite() bool { return n == NoiseSite }

// Shared says whether a contribution is two secret shares, one for each of two servers, which
// release through a ledger each.
func (n Noise) Shared() bool { return n == NoiseAggregators }

// InClear says whether the coordinator receives each party's exact numbers.
func (n Noise) InClear() bool { return n == NoiseCoordinator }

// Draws is how many independent noises are in a sum over so many parties.
func (n Noise) Draws(parties int) int {
	switch {
	case n.AtSite():
		return parties
	case n.Shared():
		return Servers
	}
	return 1
}

// Charged names an output as the coordinator's ledger has its release.
func (n Noise) Charged(output string) string {
	if n.Shared() {
		return ShareOutput(output, 0)
	}
	return output
}

// ServerNames are the two servers' by their place in Aggregated.
var ServerNames = [Servers]string{"coordinator", "helper"}

// ShareOutput names a server's release of its share of an output: each has an id of its own.
func ShareOutput(output string, server int) string { return output + "/" + ServerNames[server] }
