// Package study is about plans, kinds of study and a study's life: what is
// agreed before anything is computed, what a party drafts, what an aggregator
// sums, and which of it may be released.
//
// It is for the daemons, for the simulator and for researchers who add a kind.
// It guarantees that
//
//   - a plan that claims a guarantee no proof covers is refused by Check;
//   - every release goes through Settle, the only caller of Ledger.Release,
//     under an id that is a hash of plan and output;
//   - the number of contributions is fixed when the study seals, before noise, and
//     a ledger that answered for one set of them answers for no other;
//   - a release can be made again from plan, pool and published numbers, in every
//     field, and Release.Verify does so;
//   - the machine (Study) is pure: events in, effects out, no clock, socket or
//     disk, so the server, the simulator and the fault tests drive the same.
//
// A kind is one file here and one row in the table of kinds.
package study
