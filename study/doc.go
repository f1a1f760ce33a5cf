// Package study is about plans and kinds of study: what is agreed before anything is
// computed, what a party contributes, what an aggregator sums, and what a release says.
//
// It is for the daemons, for the simulator and for researchers who add a kind.
// It guarantees that
//
//   - a plan whose common part contradicts itself is refused by CheckCommon, and terms that
//     its kind does not know, by the kind;
//   - every release goes through Settle, the only caller of Ledger.Release, under an id
//     that is a hash of plan and output;
//   - what a release claims beside its result follows from plan and pool (Claim), so
//     that whoever has both can make it again.
//
// A kind of study is a folder below this one (classify, ratio, labels, reweigh, describe,
// evaluate) and a row in study/kinds; it implements Kind and Task. study/bodies,
// study/classifier and study/keyed hold what kinds share. study/life is the way from a draft to
// a release; study/simulate and study/verify use them all.
//
// # In which order to read it
//
// No file uses what a later one declares, but three in part 4, a circle.
//
//  1. A plan: noise.go, plan.go, text.go, kindterms.go, proposal.go, ending.go
//     (when it ends), work.go, where.go (which records), plancheck.go, pool.go, state.go.
//  2. What it guarantees: trust.go, words.go, totals.go.
//  3. What it costs: charge.go, reserve.go, calibrate.go.
//  4. What a kind is: result.go, kept.go (kept bodies), kind.go, task.go.
//  5. What comes out: signed.go, aggregated.go (two servers), manifest.go, removal.go
//     (another relation), report.go (for people).
package study
