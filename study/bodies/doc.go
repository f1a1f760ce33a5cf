// Package bodies is about the bytes of contributions and the sums that they are added to. It is shared
// by kinds whose parties send integers. A kind with a Statistic gets a whole Task here: the parties or
// the coordinator release the statistic's sum, which is the same in any order and grouping. A kind that
// needs each contribution is a study.Keeper, and reads releases of parties with AtParties.
//
// It guarantees:
//
//   - A body is checked for everything that a contribution promises; a refused one changes no sum.
//   - A party's release is accepted only on exactly the plan's terms.
//   - No number of contributions makes a sum overflow.
//   - The weight is possible for the number of contributions.
package bodies
