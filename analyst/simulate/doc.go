// Package simulate is about studies among virtual parties. A Split divides records into a public
// pool, virtual parties and a test set. A Deal makes a plan from a study.Proposal and runs it by
// the steps of a real study, with simulation ledgers. Types such as Classify do all of that
// repeatedly, and measure the releases. The package serves people who choose between plans, and
// comparisons of mechanisms.
//
// It guarantees that a result depends only on the seed, and that no simulation can be taken for a
// release: plans and publications are marked as simulated, and daemons refuse them.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except in part 2, whose files use each other.
//
//  1. servers.go (two servers), terms.go. 2. deal.go (who gets which records), contributions.go
//     (what parties send), run.go. 3. split.go, truth.go, redraw.go, coverage.go (intervals),
//     rehearse.go (given parties), summary.go; one for each kind: classify.go, ratio.go, labels.go,
//     reweigh.go, describe.go, survival.go, regress.go, evaluate.go.
package simulate
