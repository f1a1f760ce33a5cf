// Package classify is the kind of study that trains a classifier from votes on a public pool, or from
// sums of label × features (Hamm, Cao & Belkin 2016).
//
// A party trains any classifier and votes on each pool row, or sums over its records; a linear
// classifier is fitted to the noisy total. The mechanisms tally, moment, cross, means and output may be
// released, each under the bound in its proof note; the others are comparators for simulations. It
// guarantees that a contribution is always valid, whatever the records and however a learner fails, and
// that a shard learns nothing of another, not even its time.
package classify
