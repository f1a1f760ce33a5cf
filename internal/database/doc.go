// Package database opens SQLite files whose content must not be lost, brings their schema up to date, and
// says in words what failed. It knows nothing of their content.
//
// It guarantees, for every file that it opens:
//
//   - A committed transaction survives a crash of the process and of the machine: write-ahead log,
//     synchronous=FULL.
//   - Writing transactions take turns, in this process and in others: the write lock is taken at BEGIN,
//     so data that a transaction has read cannot change before it writes.
//   - The file and its side files belong to their owner alone: mode 0600, or the file is refused.
//   - A file that was emptied, that belongs to another program or that a newer version wrote is refused
//     and stays unchanged.
//   - Each migration runs once, in order, all missing ones in one transaction.
//
// Carry copies such files into one PostgreSQL database, where several processes may run as replicas. There:
//
//   - One leads (Acquire). It holds an advisory lock by a session that PostgreSQL ends after 5 s of silence,
//     and before it reads anything it commits a new epoch. Each writing transaction first locks the row of the
//     epoch FOR SHARE and compares it. So all transactions of a leader come before the epoch of the next one, which
//     waits for them, and none comes after: a paused leader that wakes up commits nothing (ErrLost).
//   - Update returns nil only once the named synchronous standby has the commit on disk. PostgreSQL's log has one
//     order, so the epoch's confirmation covers all that its leader finds, also on a standby that became the
//     primary, and also commits that nobody confirmed to the leader before. Who alone got no confirmation leads
//     no more, and reads nothing either: what it drew last is found by the next leader, whole or not at all. So
//     no answer leaves that a later leader would draw anew.
//
// The user supplies a Schema, further pragmas, and the number of reader connections.
package database
