// Package coordinator is about the middle of a study: the daemon that keeps
// plans and pools, takes one contribution from each party, adds them up,
// releases the sum through its ledger, and gives the release to its readers.
//
// It is for whoever runs studies. It guarantees that
//
//   - it knows a caller by the certificate of the connection alone. One that was
//     revoked gets no connection, and ends the calls that are under way;
//   - who may call, and how much, is decided on a call's header: nobody fills its
//     memory or its log, and no member takes what is another's;
//   - a receipt exists if and only if its contribution is on the disk: both are
//     written in one transaction, before the receipt leaves;
//   - each contribution is in the sum exactly once: batches are added, the
//     ballots deleted and the sum stored in one transaction. Bodies that a kind
//     keeps (study.Keeper) are copied nowhere: they stay as they were stored until
//     the study is over, and its release is made of each once, in the order of
//     their digests;
//   - a study has one release, out of its ledger; killed between any two
//     effects, it goes on from what is stored and spends nothing twice;
//   - a folder that was put back to an older state releases nothing once its head
//     file, or anyone who calls, knows better; after a start a release waits until
//     its contributors could say so;
//   - damaged contributions are found before any is added up, those that are kept
//     also when the release is made, and asked for again;
//   - a clock that jumped is over no deadline;
//   - a study that is released or failed leaves no clear ballot, no clear sum and
//     no kept body in its database;
//   - logs and metrics hold names, states and counts, never a feature, a label
//     or an unreleased number.
//
// # In which order to read it
//
// No file uses what a later one declares, but part 2 and part 4 are each a circle.
//
//  1. Beside a study: clock.go (whether to believe it), witness.go (those who
//     call and know better).
//  2. One study: runningstudy.go (machine and store), finished.go (what stays
//     once over), sharing.go (two servers), confirming.go (whether both go on).
//  3. Its way: keptbodies.go (bodies left as stored), repair.go (damaged ones),
//     advance.go (fold, release), group.go (contributions stored together).
//     All: registry.go (by name), scheduler.go (when each moves on).
//  4. server.go (opened, run, closed), watching.go (what is shown).
//  5. Calls: studies.go (parties' and readers'), administration.go (operators'),
//     courier.go (carried by file), ending.go (closed, amended).
package coordinator
