// Package journal is about the SQL that keeps a privacy ledger's entries: one
// SQLite file today, the same table on PostgreSQL when a server needs it.
//
// It is for whoever opens a real privacy.Ledger. It guarantees what
// privacy.Journal asks: exclusive transactions across goroutines and
// processes; a nil error only once the entries are on disk (write-ahead log,
// synchronous=FULL); nothing left of a transaction that failed before its
// commit. Entries are only ever inserted.
//
// A copy of the file made while it is open may lack what is still in the
// write-ahead log, and any backup may be older than the last release: give the
// highest published sequence number to privacy.Config.LastSequence, and the
// ledger refuses to release from a file that forgot charges.
package journal
