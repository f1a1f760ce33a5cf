// Package classify trains a classifier from votes on a public pool, or from sums of label × features (Hamm, Cao
// & Belkin 2016).
//
// Each party trains its own classifier and votes with it for one class on each pool row, or adds label ×
// features over its records. A linear classifier is then fitted to the noisy total. The mechanisms tally,
// moment, cross, means and output may be released, each under the bound in its proof note. The mechanisms
// average, majority, none and output-paper are comparators for simulations.
//
// It guarantees that a contribution is valid whatever the records are, and even if the learner fails. Training
// on one shard uses nothing of another shard, and does not depend on how long that took.
package classify
