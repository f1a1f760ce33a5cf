// Package describe is the kind of study that counts private records, all or those that meet a
// condition. For each column, it counts the records with each level or class, or in each public
// interval of a number. Means, standard deviations and quartiles follow from the counts, for all
// records or by group. The proof note is at type counts.
//
// It guarantees:
//
//   - Every record is in exactly one cell of each column, or in none if the study's condition
//     excludes the record.
//   - The result contains the released counts, and the nearest possible counts for display.
//     Estimates and intervals use the released counts.
package describe
