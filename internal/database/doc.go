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
// The user supplies a Schema, further pragmas, and the number of reader connections.
package database
