// Package describe is the kind of study that counts: the private records that match a condition and, for
// each column, the records with each level or class or in each public interval. Means, deviations and
// quartiles follow, overall or by group. Sites or servers add the noise; the proof note is at counts.
//
// It guarantees:
//
//   - Every record is in exactly one cell of each column, or in none if the study's condition excludes
//     it.
//   - The result keeps the released counts beside the displayed ones; estimates and intervals use the
//     released counts.
package describe
