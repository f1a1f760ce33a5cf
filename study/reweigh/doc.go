// Package reweigh is the kind of study that gives the rows of the public pool weights, so that the
// pool represents the private records (Ji & Elkan 2013). Sites release sums of features, or
// coefficients of a model of the ratio between private and public densities. Answer estimates the
// mean of a function of records from a release. The proof note is at type statistic.
package reweigh
