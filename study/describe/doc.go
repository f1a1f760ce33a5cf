// Package describe is about the kind of study that counts: how many private records
// match, and of each column how many have each level, lie in each of some public
// intervals, or have each class; with it means, deviations and quartiles, of all or by
// group. Sites or the coordinator add the noise; the proof note stands at counts.
//
// It guarantees that a record, whatever it holds, is in exactly one cell of each
// column, or in none where the study is not about it; that released counts are kept as
// they are beside those shown; and that estimates and their intervals start at them.
package describe
