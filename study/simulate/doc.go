// Package simulate runs studies among virtual parties. A Split deals records to a public pool, virtual
// parties and a test set. A Deal makes the plan of a study.Proposal, with a real study's defaults and
// steps, and runs it through the real machine with simulation ledgers; the result is measured. Classify,
// Ratio, Reweigh and Labels do all of that, over repeats. It serves comparisons, and people who choose
// between plans.
//
// It guarantees that a result depends on the seed alone, and that no simulation can pass for a release:
// plans and publications are marked as simulated, and daemons refuse them.
//
// # In which order to read it
//
// No file uses what a later one declares, except in part 2, which is circular.
//
//  1. servers.go (two servers), terms.go.
//  2. deal.go (records dealt), contributions.go (what parties send), run.go.
//  3. split.go, coverage.go (intervals), rehearse.go (given parties); one for each kind: classify.go,
//     ratio.go, labels.go, reweigh.go, describe.go, evaluate.go.
package simulate
