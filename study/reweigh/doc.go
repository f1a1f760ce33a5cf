// Package reweigh is the kind of study that weights the rows of the public pool so that the pool represents the
// private records (Ji & Elkan 2013). Sites release sums of features, or the coefficients of a density-ratio
// model. Answer estimates a query's mean from a release. The proof note is at statistic.
package reweigh
