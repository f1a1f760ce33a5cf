// Package records stores a coordinator's data apart from its ledger: members, pools, plans,
// contributions, sums and releases. The other packages of the coordinator decide what is written.
// This package knows rows and no rules.
//
// It guarantees:
//
//   - Store.Update writes all of a transaction or nothing. It returns nil only once the writes
//     survive a crash of the machine.
//   - Store.View reads a snapshot. It neither waits for a writer nor blocks one.
//   - In a SQLite file, bodies that were added to a sum are overwritten; so are all bodies and sums
//     of a study that is over.
//   - A damaged sum is never returned (ErrDamagedSum).
//   - A store is not opened if it is empty, belongs to another program, or was written by a newer
//     version.
//
// store.go has the interfaces Store and Tx; one suite of tests checks every implementation
// (TestStores). SQL implements them, in one SQLite file or in PostgreSQL (sql.go, its transactions
// in sqltx.go, sqltokens.go and sqlcourier.go). migrations/ holds the tables, as numbered files
// that never change.
package records
