// Package coordinator is the coordinator of studies: the daemon that stores plans and pools, takes
// one contribution from each party, sums them, releases the sum through its ledger, and gives the
// release to its readers.
//
// It guarantees:
//
//   - Only the certificate of a connection identifies its caller. A revoked certificate gets no
//     connection, and its calls under way end.
//   - Permissions and limits are checked on a call's header. So nobody can fill the coordinator's
//     memory or log, and no member can use up another's share of either.
//   - A receipt exists if and only if its contribution is on disk. One transaction writes both
//     before the receipt leaves.
//   - Each contribution is in the sum exactly once. One transaction adds a batch, deletes its
//     ballots and stores the sum. Bodies that a kind keeps (study.BodyKeeper) stay as they were
//     stored until the study is over; the release uses each once, in the order of their digests.
//   - A study has one release, which comes out of the ledger. If the process is killed between any
//     two effects, the next start resumes from what is stored and spends nothing twice.
//   - Of several replicas over one PostgreSQL database, one leads; internal/database proves that
//     only the leader commits. A step of a study is taken in memory only after its commit is
//     confirmed, so nothing leaves before that. Ballots and sums of studies with noise at the
//     coordinator are encrypted under keys in the memory of live replicas. If a new leader lacks
//     keys, parties send the same bytes again. For every study the ledger gives its earlier answer
//     and draws no new noise.
//   - After its folder was restored from an older backup, the coordinator releases nothing once its
//     head file or a caller proves the restore. After each start, a release waits until its
//     contributors had the chance to show such a proof.
//   - Damaged contributions are found before any contribution is added, and their parties are asked
//     for the same bytes again. Kept bodies are checked once more at the release.
//   - No deadline passes by a clock that jumped.
//   - A released or failed study leaves no ballot, sum or kept body in clear in the database.
//   - Logs and metrics contain names, states and counts, never a feature, a label or an unreleased
//     number.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except within part 2 and within part 4, whose files
// use each other.
//
//  1. Apart from a study: clock.go (whether to trust the clock), rival.go (another leader),
//     witness.go (callers that can prove a restore).
//  2. One study: runningstudy.go (machine and store), finished.go (what stays of it in memory),
//     sharing.go (two servers), confirming.go (whether both servers can still release it).
//  3. Its steps: keptbodies.go (bodies that stay as stored), repair.go (damaged bodies), advance.go
//     (fold, release), group.go (contributions stored together). All studies: registry.go (by
//     name), scheduler.go (when each moves on).
//  4. addresses.go (of the replicas, signed), server.go (open, run, close), studykeys.go,
//     observing.go (the second witness) and standing.go (replicas that wait), watching.go
//     (monitoring).
//  5. Calls: studies.go (of parties and readers), administration.go (of operators), courier.go
//     (carried files), ending.go (close, amend).
package coordinator
