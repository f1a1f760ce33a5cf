// Package simulate is about studies among virtual parties: a Split deals records to a
// public pool, virtual parties and a test set; a Deal makes the plan of a
// study.Proposal, with the defaults of a real study and through the same steps, and
// runs it through the real machine with ledgers that only simulate; what comes out is
// measured. Classify, Ratio, Reweigh and Labels do all of it, over repeats. It is for
// those who choose between plans, and for comparisons.
//
// It guarantees that an answer depends on the seed alone, and that nothing it makes
// passes for a release: plans and publications are stamped simulated, and the
// daemons refuse them.
//
// # In which order to read it
//
// No file uses what a later one declares, but in part 2, a circle.
//
//  1. servers.go (two servers), terms.go.
//  2. deal.go (records dealt), contributions.go (what parties send), run.go.
//  3. split.go, coverage.go (intervals), rehearse.go (given parties); a kind each:
//     classify.go, ratio.go, labels.go, reweigh.go, describe.go, evaluate.go.
package simulate
