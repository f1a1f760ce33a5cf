package study

import (
	"fmt"
	"slices"
)

// Noise says where a study's noise is added. Other packages call its methods and do not compare it
// with the constants. For a valid setting exactly one of AddedAtSite, Shared and SumsInClear is
// true.
type Noise string

const (
	// each agent adds noise, through its ledger, before anything leaves
	NoiseSite        Noise = "site"
	NoiseCoordinator Noise = "coordinator" // the coordinator adds noise once, to the sum
	// coordinator and helper each add enough noise, to their secret shares of the sum
	NoiseAggregators Noise = "aggregators"
)

// Servers is the number of servers of NoiseAggregators. Each adds noise, so the sum has two noises.
const Servers = 2

// Noises lists the three settings in the order in which help texts show them.
func Noises() []Noise { return []Noise{NoiseSite, NoiseCoordinator, NoiseAggregators} }

// Validate accepts the three settings of Noises. "" is refused too: Complete must have chosen.
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

// AddedAtSite reports whether each agent adds noise through its ledger. Servers then add released
// numbers, uncharged.
func (n Noise) AddedAtSite() bool { return n == NoiseSite }

// Shared reports whether a contribution is split into secret shares for two servers. Each server
// releases its share through its ledger.
func (n Noise) Shared() bool { return n == NoiseAggregators }

// SumsInClear reports whether the coordinator receives each party's exact numbers.
func (n Noise) SumsInClear() bool { return n == NoiseCoordinator }

// Draws returns how many independent noises a sum over this number of parties contains.
func (n Noise) Draws(parties int) int {
	switch {
	case n.AddedAtSite():
		return parties
	case n.Shared():
		return Servers
	}
	return 1
}

// LedgerOutput returns the name under which the coordinator's ledger charges an output.
func (n Noise) LedgerOutput(output string) string {
	if n.Shared() {
		return ShareOutput(output, 0)
	}
	return output
}

// ServerNames has the order of the arrays in TwoServerProof.
var ServerNames = [Servers]string{"coordinator", "helper"}

// ShareOutput names a server's release of its share, so that the two servers' releases have
// different IDs.
func ShareOutput(output string, server int) string { return output + "/" + ServerNames[server] }
