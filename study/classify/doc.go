// Package classify is the kind of study that trains a classifier from votes on a public pool, or
// from sums of label × features (Hamm, Cao & Belkin 2016).
//
// Each party trains its own classifier and votes with it for one class on each pool row, or adds
// label × features over its records. Package trained then fits a linear classifier to the noisy
// total; no party needs it. Real studies can use the mechanisms tally, moment, cross, means and
// output, each under the bound in its proof note. Only simulations can use majority, none and
// output-paper, for comparison.
//
// It guarantees that a contribution is valid whatever the records are, and even if the learner
// fails. A shard's classifier depends neither on other shards' records nor on how long training on
// them took.
package classify
