// Package classify trains a classifier from votes on a public pool, or from sums of label × features
// (Hamm, Cao & Belkin 2016).
//
// Each party trains a classifier of its own and votes with it for one class on each pool row, or adds up
// label × features over its records. A linear classifier is then fitted to the noisy total. The
// mechanisms tally, moment, cross, means and output may be released, each under the bound in its proof
// note; average, majority, none and output-paper are comparators for simulations.
//
// Guarantees: a contribution is valid whatever the records are, and even if the learner fails. The
// training on one shard sees nothing of another shard, not even its duration.
package classify
