// Package study is about plans, kinds of study and a study's life: what is
// agreed before anything is computed, what a party contributes, what an aggregator
// sums, and which of it may be released.
//
// It is for the daemons, for the simulator and for researchers who add a kind.
// It guarantees that
//
//   - a plan whose common part contradicts itself is refused by CheckCommon, and terms that
//     its kind does not know, by the kind;
//   - every release goes through Settle, the only caller of Ledger.Release,
//     under an id that is a hash of plan and output;
//   - the number of contributions is fixed when the study seals, before noise, and
//     a ledger that answered for one set of them answers for no other;
//   - what a release claims beside its result follows from plan and pool (Claim), so
//     that whoever has both can make it again;
//   - the machine (Study) is pure: events in, effects out, no clock, socket or
//     disk, so the server, the simulator and the fault tests drive the same.
//
// A kind of study is a folder below this one (classify, ratio, labels, reweigh, describe, evaluate) and a
// row in study/kinds; it implements Kind and Task. study/bodies, study/classifier and
// study/keyed hold what kinds share; study/simulate and study/verify use them all.
//
// # In which order to read it
//
// No file uses what a later one declares, but three in part 5, a circle.
//
//  1. A plan: noise.go, plan.go, text.go, kindterms.go, proposal.go, ending.go
//     (when it ends), work.go, where.go (which records), plancheck.go, pool.go.
//  2. What it guarantees: trust.go, words.go, totals.go.
//  3. What it costs: charge.go, reserve.go, calibrate.go.
//  4. Its life: study.go, the machine.
//  5. What a kind is: result.go, kept.go (kept bodies), kind.go, task.go.
//  6. What comes out: signed.go, aggregated.go (two servers), manifest.go,
//     conclude.go, removal.go (another relation), report.go (for people).
package study
