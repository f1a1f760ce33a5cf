// Package labels is the kind of study that trains a classifier robust to label noise (Bi &
// Suppakitpaisarn 2022). Features leave a party in clear, if its policy grants the columns; each label
// leaves only through the party's own ledger. It hides each label and no feature (proof note at Kind).
package labels
