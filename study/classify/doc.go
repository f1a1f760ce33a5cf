// Package classify is about the kind of study that trains a classifier from votes on
// a public pool, or from sums of label × features (Hamm, Cao & Belkin 2016).
//
// A party trains what it likes and votes on each row of the pool, or adds up its
// records; a linear classifier is fitted to the noisy sum. The mechanisms tally,
// moment, cross, means and output may be released, each under the bound in its proof
// note; the others are comparators for simulations. It guarantees that a
// contribution is always valid, whatever the records are and however a learner
// fails, and that a shard sees nothing of another, its time included.
package classify
