// Package evaluate is the kind of study that judges scores on private records: of a model, in a column
// of each site, or by each site's own program. Each site counts its records by score bin, label and
// public subgroup; everything else follows from the noisy counts (aggregation/validation). The proof
// note is at histograms.
//
// It guarantees that every record lies in exactly one cell of each histogram, for any record and model,
// and that a record's cell does not depend on other records. At unit party, a party's program may break
// the latter (program.go).
package evaluate
