// Package cluster tells the replicas of a coordinator who of them lives, who leads, and at which
// addresses agents reach them. They gossip by memberlist, over mutual TLS that only holders of the
// authority's present key can speak.
//
// # Who decides what
//
// Gossip grants nothing. PostgreSQL's lease says who leads, the epoch in each transaction says who
// may commit, and a certificate says who calls (internal/database, protocol). Suppose that gossip
// lies as it likes: names dead replicas alive, living ones dead, and invents leaders. Then this may
// happen, and no more:
//
//   - A leader's session is ended although it lives, if PostgreSQL has not heard from it for 2 s
//     either. The leader leads no more and commits nothing; the next one finds all that it
//     committed. So a lie costs a takeover, never a release, a charge or a ballot.
//   - A leader holds its releases back, because it hears of a rival. It goes on when the rival is
//     gone.
//   - A replica remembers a ledger head that is ahead of the ledger. If it leads, it releases
//     nothing until an operator has looked (caucus ledger reconcile). It never releases what it
//     would not have.
//   - Agents get addresses of no replica. They keep those that answer, and call nobody without the
//     coordinator's certificate.
//
// Liars hold the authority's key, and could do worse with it.
//
// # Failures, and why there are two witnesses
//
// A process stops, is paused for any time and goes on, or is cut off from some or all others;
// packets are lost, doubled and late. Clocks of machines are not compared: each replica measures
// with its own, and silence at PostgreSQL is measured by PostgreSQL's.
//
// Each witness alone errs. PostgreSQL sees one silent session: it cannot tell a dead leader from
// one whose road is bad for two seconds, so alone it must wait 5 s. Gossip sees one silent process:
// a leader that is cut off from the other replicas still serves agents and commits. When both miss
// the leader, its agents most likely do too. So a session is ended if
//
//  1. no living replica says that it leads under the newest epoch heard of (View.NewestEpoch), and
//  2. PostgreSQL has heard nothing for 2 s from the session that holds the lease under that epoch
//     or a later one, which nobody heard of.
//
// With each takeover of the last minute these seconds double, up to the 5 s after which PostgreSQL
// acts alone. So a network that is bad for longer makes no leader after the other.
//
// What a replica says of itself is a State. It reaches all others within a second, on most
// networks. A View is what one replica has heard. It may be old, and is the same nowhere.
//
// A replica that is silent is found gone after about 2 s, by memberlist's probes: one each half
// second, half a second to answer directly or through others, one second to object.
package cluster
