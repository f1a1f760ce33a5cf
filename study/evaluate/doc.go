// Package evaluate is about the kind of study that judges scores on private records: a model's,
// those in a column of each site, or those of each site's own program. Each site counts its records
// by score bin, label and public subgroup; everything else follows from the noisy counts
// (aggregation/validation). The proof note is at histograms.
//
// It guarantees that every record lies in exactly one cell of each histogram, whatever the record
// and the model, and that what a record adds does not depend on other records. A party's program,
// at unit party, may break the latter (program.go).
package evaluate
