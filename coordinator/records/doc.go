// Package records stores a coordinator's data apart from its ledger: members, pools, plans, contributions, sums and
// releases. The other packages of the coordinator decide what is written; this one knows rows and no rules.
//
// It guarantees:
//
//   - Store.Update writes all of a transaction or nothing, and returns nil only once it survives a crash
//     of the machine.
//   - Store.View reads a snapshot. It neither waits for a writer nor blocks one.
//   - Bodies that were added up, and all bodies and sums of a study that is over, are overwritten in a
//     file of SQLite.
//   - A damaged sum is never returned (ErrDamagedSum).
//   - A store that is empty, belongs to something else, or has a newer version is not opened.
//
// store.go has the interfaces Store and Tx; one suite of tests checks every implementation (TestStores).
// SQL implements them, in one SQLite file or in PostgreSQL (sql.go, its transactions in sqltx.go, sqltokens.go and
// sqlcourier.go). migrations/ holds the tables, as numbered files that never change.
package records
