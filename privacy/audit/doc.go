// Package audit refutes a privacy claim from answers alone, for those who trust neither a proof nor
// its code. It knows no mechanism and imports nothing of this module.
//
//   - Audit bounds ε from below: independent answers (Draw) tell two neighbouring data sets apart.
//   - Dependence tests whether the noise in answers about a known vector (Noise) is independent.
//
// A true claim is refuted with probability at most FalseAlarm, whatever was learnt on the way
// (proofs at Audit and DependenceTest). An audit never proves a claim: a false claim may go
// unrefuted.
//
// In order: audit.go, view.go (views of an answer), share.go (bounds on a probability),
// dependence.go.
package audit
