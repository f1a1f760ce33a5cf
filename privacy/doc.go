// Package privacy is about the one door through which anything private leaves:
// units, bounds, exact noise, calibration, accounting, and the ledger. It is
// for whoever must trust a release.
//
// # What it guarantees
//
// Everything private is an integer vector (Sensitive) with a proven bound
// (Bound) on how far one unit can move it. Ledger.Release adds noise
// (Mechanism) to it, once, out of a budget, and returns a Published. All that
// is done with a Published is post-processing.
//
//   - Noise is exact: integers and rationals, never floating point. Its bits are
//     the operating system's (system, in dice.go); a ledger has no field that
//     could hold another stream. The samplers of the papers that need floats,
//     and seeded noise, work only with a ledger made by Simulation, whose
//     answers do not marshal.
//   - An answer is given once: the same id gives the same answer, also after a
//     crash; other terms under the same id are refused, and what a vector was
//     summed from is one of the terms (asked, in request.go).
//   - Charge and answer are written in one transaction, before the answer
//     leaves. What fails before the commit spends nothing and reveals nothing.
//     Where the charge must come before the data, Reserve makes it, and the
//     answer completes it (Reserve has the proof).
//   - A limit holds for releases chosen one after the other in view of earlier
//     answers (rules, in totals.go, has the proof).
//   - No refusal depends on a value.
//
// # Neighbours and units
//
// Neighbouring data differ by replacing one unit; the sizes (parties, records,
// pool rows) are public. Units are party ⊃ record ⊃ label. A bound proved at a
// unit holds in full at every finer one. At party, a bound proved at record
// counts k·ε and k²·ρ, if a party holds at most a public number k of records
// (Bound.PerParty); otherwise, and from label upwards, it guarantees nothing
// there, and a ledger with a limit there refuses it.
//
// # Who is trusted with what
//
//	setting            who adds noise                   a dishonest coordinator learns
//	noise: site        each agent, through its own      nothing beyond ε: it never needs to be
//	                   ledger, before anything leaves   trusted. Cost: √M more noise
//	noise: coordinator the coordinator, on the sum      each party's exact votes on rows it chose.
//	                                                    Readers of the release learn no more than
//	                                                    ε allows. The agent's ledger counts the
//	                                                    declared cost of what it sent (Spend)
//	noise: aggregators coordinator and helper, each     nothing beyond ε if either is honest
//	                   in full, on secret shares        (NewShare has the proof)
//
// # What it does not do
//
// It cannot check that a bound is true: that is the caller's proof, from
// public inputs alone. It does not hide how long a draw takes, which depends
// on the noise drawn (not on the values): do not let a reader time single
// draws. It does not hide what it must keep: the journal holds published
// answers and charges, no sensitive value. It does not defend against someone
// who can write its memory or its journal; the hash chain finds accidents and
// a careless edit, not an editor who recomputes it, unless hashes were kept
// elsewhere (every Published carries its entry's).
//
// # In which order to read it
//
// No file uses what a later one declares (TestReadingOrder). The core, an hour's
// reading, is parts 1, 2, 3, 5 and 6: the whole way through the door. Parts 3 and
// 4 are read with Canonne, Kamath & Steinke, "The discrete Gaussian for
// differential privacy" (2020), beside them.
//
//  1. What is claimed, of what: unit.go, budget.go, bound.go, digest.go,
//     errors.go, sensitive.go.
//  2. What it costs, from ρ to ε, between units, and within limits: rational.go,
//     convert.go, cost.go, totals.go.
//  3. Noise, proof notes with samplers: dice.go, mechanism.go, laplace.go,
//     gaussian.go, field.go.
//  4. More of the same: knorm.go, response.go; for class counts normal.go,
//     rounded.go, zerosum.go, beta.go, urn.go; the papers' samplers, for
//     simulation only: literal.go, literalcounts.go; all of them by name:
//     parameters.go.
//  5. What leaves, and its canonical bytes: published.go, encoding.go.
//  6. The door and its durable order: reconciliation.go, entry.go, journal.go,
//     memory.go, request.go, period.go, ledger.go, reserve.go, release.go.
//     journal/ is the same on a disk.
//  7. Its chain, what others may see of it, and how it is mended: line.go,
//     unanswered.go, chain.go, begin.go, reconcile.go.
//  8. Beside the door: guarantee.go (what several releases guarantee together, as
//     their plans say), counts.go, labelguide.go; and what audit/, which knows no
//     mechanism, is given to refute one: trial.go, real.go, scores.go.
//
// Each file's test is the one that would catch its proof being wrong:
// samplers by computing their law, not by sampling, and draw roll for roll by
// them (drawlaw_test.go); costs against the exact privacy loss; the ledger by
// failing at every step, and by what two processes draw (process_test.go).
package privacy
