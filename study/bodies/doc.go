// Package bodies is about the bytes of contributions and their sums, for kinds whose parties send
// integers. A kind with a Statistic gets a whole Task from this package: the parties or the
// coordinator release the statistic's sum, which does not depend on order and grouping. A kind that
// needs each contribution is a study.BodyKeeper, and reads parties' releases with PartyReleases.
//
// It guarantees:
//
//   - A body that no honest party could send is refused, and changes no sum.
//   - A party's release is accepted only on exactly the plan's terms.
//   - No number of contributions makes a sum overflow.
//   - A weight that is impossible for the number of contributions is refused.
package bodies
