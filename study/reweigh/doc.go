// Package reweigh is the kind of study that weights the rows of the public pool so that it stands for
// the private records (Ji & Elkan 2013). Sites release sums of features, or a density-ratio model's
// coefficients. Answer estimates a query's mean from a release. The proof note is at statistic.
package reweigh
