// Package reweigh is about the kind of study that weighs the rows of the public pool
// so that it stands for the private records (Ji & Elkan 2013): sites release sums of
// features, or the coefficients of a density-ratio model, and the weights follow.
// Answer estimates a query's mean from a release; the proof note stands at statistic.
package reweigh
