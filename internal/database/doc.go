// Package database opens SQLite files whose content must not be lost, brings their schema up to
// date, and says in words what failed. It knows nothing of their content.
//
// It guarantees, for every file that it opens:
//
//   - A committed transaction survives a crash of the process and of the machine: write-ahead log,
//     synchronous=FULL.
//   - Writing transactions take turns, in this process and in others. The write lock is taken at
//     BEGIN, so data that a transaction has read cannot change before the transaction writes.
//   - The file and its side files belong to their owner alone. A file without mode 0600 is refused.
//   - A file is refused, and stays unchanged, if it was emptied, belongs to another program, or was
//     written by a newer version.
//   - Each migration runs once, in order, and all missing ones run in one transaction.
//
// Carry copies such files into one PostgreSQL database, where several processes may run as
// replicas. There:
//
//   - One process leads (AcquireLease). Its session holds an advisory lock. PostgreSQL ends the
//     session after 5 s of silence. Before the leader reads anything, it commits a new epoch. Each
//     writing transaction first locks the row of the epoch FOR SHARE and compares the epoch. So the
//     next leader's new epoch waits for all transactions of the earlier leader, none of which comes
//     after that epoch. A paused leader that wakes up commits nothing (ErrLeaseLost).
//   - Update returns nil only once the named synchronous standby has the commit on disk.
//     PostgreSQL's log has one order. So when a new epoch is confirmed, everything that its leader
//     reads is confirmed too. This is so on a standby that became the primary too, and for commits
//     whose confirmation the earlier leader never received. A leader that misses a confirmation
//     stops leading and reads nothing more. The next leader finds its last answer in the database,
//     or finds that there is none. So no answer leaves that a later leader would draw again.
//
// PostgreSQL alone decides who leads. If a leader dies, the end of its session wakes the next one
// at once. If a leader is cut off or paused, PostgreSQL waits 5 s for it. An Observer may end its
// session earlier, if another witness does not hear from the leader either (coordinator/cluster).
// This takes nothing from the proof: a session may end at any moment.
//
// A pooler of connections hands out sessions of its own, so no lock of a session holds. Acquire
// refuses one that shows itself by another number of PostgreSQL's process.
//
// The user supplies a Schema, further pragmas, and the number of reader connections.
package database
