// Package evaluate is the kind of study that measures on private records how well scores predict
// the label. The scores are those of a model, those in a column of each site, or those of each
// site's own program. Each site counts its records by score bin, label and public subgroup, and
// everything else follows from the noisy counts (package judged). The proof note is at Histograms.
//
// It guarantees that every record lies in exactly one cell of each histogram, for any record and
// model, and that a record's cell does not depend on other records, except at unit
// party, where a party's own program may score (program.go).
package evaluate
