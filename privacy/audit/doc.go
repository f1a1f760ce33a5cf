// Package audit is about refuting code by its answers: it draws, and shows from
// what was drawn alone that a claim of privacy is false. It is for whoever
// trusts neither a proof nor the code that stands beside it.
//
// It knows no mechanism and imports nothing of this module: a Draw gives plain
// numbers, and Noise what was added to a vector that the auditor made up.
//
//   - Audit tells two neighbours apart by independent answers about them, and so
//     bounds ε from below.
//   - Dependence looks for noise that hangs together, which answers looked at one
//     by one do not show.
//
// It guarantees one thing: whoever keeps the claim is refuted with probability
// FalseAlarm at most, whatever was learnt on the way; the proofs stand at Audit
// and Dependence. It never proves a claim: what is not refuted may still be
// false.
//
// In order: audit.go, view.go (the ways to look at an answer), share.go (bounds
// on a probability), dependence.go.
package audit
