// Package bodies is about the bytes of contributions and their sums, for kinds whose parties send
// integers. A kind with a Statistic gets a whole Task from this package: the parties or the
// coordinator release the statistic's sum, which is the same in any order and grouping. A kind that
// needs each contribution is a study.Keeper, and reads parties' releases with AtParties.
//
// It guarantees:
//
//   - Every promise about a contribution is checked. A refused body changes no sum.
//   - A party's release is accepted only on exactly the plan's terms.
//   - No number of contributions makes a sum overflow.
//   - A weight that is impossible for the number of contributions is refused.
package bodies
