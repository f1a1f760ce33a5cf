// Package reweigh is the kind of study that gives the rows of the public pool weights, so that the
// pool represents the private records (Ji & Elkan 2013). Sites release sums of features, or
// coefficients of a model of the ratio between private and public densities. The proof note is at
// type Statistic. It is the half of the kind that a party needs; package weighed fits the weights.
package reweigh
