// Package evaluate is about the kind of study that judges scores: a model's, those
// that sites have in a column, or a program's of each site, on their private records. Each site counts its records by
// bin of the score, label and public subgroup; all that is said of the score follows from
// the noisy counts (aggregation/validation). The proof note stands at histograms.
//
// It guarantees that a record, whatever it holds and whatever the model is, lies in
// exactly one cell of each histogram, and that what a record adds does not hang on the
// records beside it.
package evaluate
