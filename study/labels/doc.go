// Package labels is about the kind of study that trains a classifier robust to label
// noise (Bi & Suppakitpaisarn 2022): features leave a party in clear, where its
// policy grants the columns, each label only through its own ledger. It hides each
// label and no feature; the proof note stands at Kind.
package labels
