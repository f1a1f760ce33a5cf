// Package describe is about the kind of study that counts: how many private records match a
// condition and, for each column, how many have each level or class or lie in each public interval;
// from these follow means, deviations and quartiles, overall or by group. Sites or servers add the
// noise; the proof note is at counts.
//
// It guarantees:
//
//   - Every record is in exactly one cell of each column, or in none if the study's condition
//     excludes it.
//   - The result keeps the released counts beside the displayed ones; estimates and intervals start
//     from the released ones.
package describe
