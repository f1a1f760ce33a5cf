// Package bodies is about what contributions are made of: the bytes of a body, and
// the sums that bodies are added to. It is what kinds of study share.
//
// It is for kinds whose parties send integers. A kind with a Statistic has a
// Task here whole: parties or the coordinator release the sum of it, which is the
// same in any order and from any shards; a kind that needs every contribution
// later is a study.Keeper, and reads what parties released with AtParties. It
// guarantees that
//
//   - a body is checked for everything that a valid contribution promises before it
//     is added, and a refused one leaves a sum as it was;
//   - what a party released is taken under exactly the plan's terms;
//   - no number of contributions makes a sum wrap;
//   - a weight is one that so many contributions can have.
package bodies
