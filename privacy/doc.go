// Package privacy is the only way for anything private to leave: units, bounds, exact noise,
// calibration, accounting, and the ledger.
//
// # What it guarantees
//
// Everything private is an integer vector (Sensitive) with a proven bound (Bound) on how far one
// unit can move it. Ledger.Release adds noise (Mechanism) to it, once, charges a budget, and
// returns a Published. Anything done with a Published is post-processing.
//
//   - Noise is exact: integers and rationals, never floating point. Its bits are the operating
//     system's (system, in dice.go); a ledger has no field for another source. The papers'
//     floating-point samplers, and seeded noise, work only with a ledger made by NewSimulation,
//     whose answers do not marshal.
//   - An id has one answer: asking again gives the same answer, also after a crash. A request under
//     the same id with other terms (bound, mechanism, source of the vector: asked, in request.go)
//     is refused.
//   - Charge and answer are written in one transaction, before the answer leaves. A failure before
//     the commit spends nothing and reveals nothing. Where the charge must come before the data,
//     Reserve makes it, and the answer completes it (proof at Reserve).
//   - A limit holds even if each release is chosen after seeing earlier answers (proof at rules, in
//     totals.go).
//   - No refusal depends on a value.
//
// # Neighbours and units
//
// Neighbouring data differ by replacing one unit. Sizes (parties, records, pool rows) are public.
// Units are party ⊃ patient ⊃ record ⊃ label. A bound proved at a unit holds in full at every finer
// one; beside unit patient, a record is replaced by another one of the same patient (Cost.At). At a
// coarser unit, a bound proved at record or patient counts k·ε and k²·ρ, if a party holds at most a
// public number k of them (Bound.PerParty). From record, the number of records is public: the k
// steps reach a patient, or a party, with as many records, and no other. Otherwise, and from label
// to a coarser unit, a bound guarantees nothing, and a ledger with a limit there refuses it.
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
//	                   in full, on secret shares        (proof at NewSensitiveShare)
//
// # What it does not do
//
//   - It cannot check that a bound is true: the caller proves it, from public inputs alone.
//   - It does not hide how long a draw takes. That depends on the noise (not on the values), so do
//     not let a reader time single draws.
//   - It does not hide its journal, which holds published answers and charges, but no sensitive
//     value.
//   - It does not defend against someone who can write its memory or its journal. The hash chain
//     detects accidents and careless edits, but not an editor who recomputes it, unless hashes were
//     kept elsewhere (every Published carries its entry's hash).
//
// # In which order to read it
//
// No file uses what a later one declares (TestReadingOrder). The core takes an hour: parts 1, 2, 3,
// 5 and 6. Read parts 3 and 4 beside Canonne, Kamath & Steinke, "The discrete Gaussian for
// differential privacy" (2020).
//
//  1. Claims: unit.go, budget.go, bound.go, digest.go, errors.go, sensitive.go.
//  2. Costs, their conversion to ε and to other units, and limits: rational.go, convert.go,
//     cost.go, totals.go.
//  3. Noise, samplers with proof notes: dice.go, mechanism.go, independent.go, laplace.go,
//     gaussian.go, field.go.
//  4. More noise: knorm.go, response.go; for class counts normal.go, rounded.go, zerosum.go,
//     beta.go, urn.go; the papers' samplers, for simulation only: literal.go, literalcounts.go; all
//     of them by name: parameters.go.
//  5. Releases and their canonical bytes: published.go, encoding.go.
//  6. The ledger and its crash order: reconciliation.go, entry.go, journal.go, memory.go,
//     request.go, period.go, ledger.go, reserve.go, release.go. journal/ is a journal on disk.
//  7. The hash chain, what others may see of it, and its repair: line.go, unanswered.go, chain.go,
//     begin.go, reconcile.go.
//  8. Beside the ledger: guarantee.go (what several releases guarantee together), counts.go.
//
// Each file's test would catch a wrong proof. A sampler's law is computed, not sampled, and real
// draws follow it roll by roll (drawlaw_test.go). audit/, which knows no mechanism, tries to refute
// each (audittable_test.go). Costs are compared with the exact privacy loss. The ledger is made to
// fail at every step, and two processes draw from one ledger (process_test.go).
package privacy
