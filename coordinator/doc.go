// Package coordinator is the coordinator of studies: the daemon that stores plans and pools, takes one contribution
// from each party, sums them, releases the sum through its ledger, and gives the release to its readers.
//
// It guarantees:
//
//   - A caller's identity is the certificate of its connection, nothing else. A revoked certificate gets
//     no connection, and the calls under way end.
//   - Permissions and limits are checked on a call's header. So nobody can fill its memory or its log,
//     and no member can take another's share of either.
//   - A receipt exists if and only if its contribution is on disk: one transaction writes both, before
//     the receipt leaves.
//   - Each contribution is in the sum exactly once: one transaction adds a batch, deletes its ballots
//     and stores the sum. Bodies that a kind keeps (study.Keeper) are never copied: they stay as they
//     were stored until the study is over, and the release uses each once, in the order of their
//     digests.
//   - A study has one release, out of the ledger. If the process is killed between any two effects, it
//     resumes from what is stored and spends nothing twice.
//   - Of replicas over one PostgreSQL one leads; internal/database proves that none but it commits. A step of
//     a study is taken in memory only after its confirmed commit, so nothing leaves before that. After a
//     failover, ballots with noise here are sent again, the same bytes: the ledger finds its answer and
//     draws none anew.
//   - A folder that was put back to an older state releases nothing once its head file, or a caller,
//     proves it. After a start, a release waits until its contributors had the chance to show such a
//     proof.
//   - Damaged contributions are found before any is added up (kept ones also when the release is made),
//     and asked for again.
//   - No deadline passes by a clock that jumped.
//   - A released or failed study leaves no clear ballot, no clear sum and no kept body in the database.
//   - Logs and metrics contain names, states and counts, never a feature, a label or an unreleased
//     number.
//
// # In which order to read it
//
// No file uses what a later one declares, but part 2 and part 4 are each a circle.
//
//  1. Apart from a study: clock.go (whether to trust the clock), witness.go (callers that can prove
//     a restore).
//  2. One study: runningstudy.go (machine and store), finished.go (what stays of it in memory),
//     sharing.go (two servers), confirming.go (whether both servers stand by it).
//  3. Its steps: keptbodies.go (bodies left as stored), repair.go (damaged ones), advance.go (fold,
//     release), group.go (contributions stored together). All studies: registry.go (by name),
//     scheduler.go (when each moves on).
//  4. server.go (open, run, close), standing.go (replicas that wait), watching.go (monitoring).
//  5. Calls: studies.go (of parties and readers), administration.go (of operators), courier.go
//     (carried files), ending.go (close, amend).
package coordinator
