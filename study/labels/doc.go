// Package labels is the kind of study that trains a classifier robust to label noise (Bi &
// Suppakitpaisarn 2022). Features leave a party in clear, if its policy grants the columns. Labels
// leave with noise, through the party's ledger. So labels are hidden and features are not (proof
// note at Kind). It is the half of the kind that a party needs; package learned fits the
// classifier.
package labels
