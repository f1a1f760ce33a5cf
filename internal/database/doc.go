// Package database opens SQLite files whose content must not be lost, brings their schema up to date,
// and says in words what failed. It knows nothing of their content.
//
// It guarantees, for every file that it opens:
//
//   - A committed transaction survives a crash of the process and of the machine: write-ahead log,
//     synchronous=FULL.
//   - Writing transactions take turns, in this process and in others: the write lock is taken at BEGIN,
//     so what a transaction reads cannot change before it writes.
//   - The file and its side files belong to their owner alone: mode 0600, or the file is refused.
//   - A file that was emptied, that is another program's or that a newer version wrote is refused and
//     not changed.
//   - Each migration runs once, in order, all missing ones in one transaction.
//
// Each user supplies the rest: a Schema, more pragmas, and whether readers have connections of their
// own.
package database
