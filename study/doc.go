// Package study is about the agreement between parties: a study's plan, its cost and guarantee, the
// contributions of parties, the sum of an aggregator, and the release.
//
// It serves the daemons, the simulator and researchers who add a kind. It guarantees:
//
//   - CheckCommon refuses a plan whose common part is contradictory. The kind refuses terms that it
//     does not know.
//   - Every release passes Settle, the only caller of Ledger.Release, under a hash of plan and
//     output.
//   - A release's guarantee follows from plan and pool (Claim), so a reader can recompute it.
//
// Each kind is a folder below this one and a row in study/kinds, and implements Kind and Task.
// study/bodies, study/classifier and study/keyed hold parts that kinds share. study/life takes a
// study from draft to release. analyst/simulate and study/verify use all kinds.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except that three files of part 4 use each other.
//
//  1. A plan: noise.go, choice.go (of a patient's records), plan.go, text.go, kindterms.go,
//     proposal.go, ending.go (when it ends), work.go, where.go (which records), plancheck.go,
//     pool.go, state.go.
//  2. What it guarantees: trust.go, words.go, totals.go.
//  3. What it costs: charge.go, reserve.go, calibrate.go.
//  4. What a kind is: result.go, inputs.go (what a contribution is made of), kept.go (kept bodies),
//     kind.go, task.go.
//  5. What comes out: signed.go, aggregated.go (two servers), manifest.go, removal.go (bounds under
//     add/remove), report.go (for people).
package study
