// Package journal stores a privacy ledger's entries in SQL: in one SQLite file, or in the same
// table in a PostgreSQL database.
//
// It guarantees what privacy.Journal requires:
//
//   - Transactions exclude each other across goroutines and processes.
//   - A nil error means that the entries are on disk (write-ahead log, synchronous=FULL), and with
//     PostgreSQL also on the disk of its synchronous standby.
//   - A transaction that fails before its commit leaves nothing.
//   - Entries are only ever inserted.
//
// A copy of an open file may lack entries that are still in the write-ahead log, and any backup may
// be older than the last release. So set privacy.Config.LastSequence to the highest published
// sequence number: the ledger then refuses to release from a file that lacks charges.
package journal
