// Package database is about files of SQLite that hold what must not be lost: it
// opens them, brings their schema up to date, and says in words what failed. It
// is for the rooms that keep something, and knows nothing of what they keep.
//
// It guarantees, for every file that it opens:
//
//   - A committed transaction survives a crash of the process and of the machine:
//     write-ahead log, synchronous=FULL.
//   - Transactions that write take turns, in this process and in others: the
//     write lock is taken at BEGIN, so that what one reads cannot change before
//     it writes.
//   - The file and its side files are the owner's alone: mode 0600, or refused.
//   - A file that was emptied, that is another program's or that a newer version
//     wrote is refused, and not changed.
//   - Each migration runs once, in order, all that are missing in one
//     transaction.
//
// What differs between rooms is theirs to say: a Schema, more pragmas, and
// whether readers have connections of their own.
package database
