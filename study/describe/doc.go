// Package describe is about the kind of study that counts: of each column how many
// private records have each level, lie in each of some public intervals, or have
// each class. Sites or the coordinator add the noise; the proof note stands at counts.
//
// It guarantees that a record, whatever it holds, is in exactly one cell of each
// column, and that released counts are kept as they are beside those shown.
package describe
