// Package describe is the kind of study that counts the private records that match a condition. For
// each column, it counts the records with each level or class, or in each public interval of a
// number. Means, deviations and quartiles follow, for all records or by group. Sites or servers add
// the noise. The proof note is at counts.
//
// It guarantees:
//
//   - Every record is in exactly one cell of each column, or in none if the study's condition
//     excludes the record.
//   - The result contains the released counts beside the displayed ones. Estimates and intervals use
//     the released counts.
package describe
