// Package audit refutes a privacy claim from answers alone, for those who trust neither a proof nor
// its code. It knows no mechanism and imports nothing of this module: a Draw returns plain numbers,
// and Noise holds what was added to a vector that the auditor made up.
//
//   - Audit tells two neighbours apart by independent answers about them, and so bounds ε from
//     below.
//   - Dependence looks for noise that is not independent, which single answers don't show.
//
// A true claim is refuted with probability at most FalseAlarm, whatever was learnt on the way
// (proofs at Audit and Dependence). An audit never proves a claim: one that is not refuted may
// still be false.
//
// In order: audit.go, view.go (views of an answer), share.go (bounds on a probability),
// dependence.go.
package audit
