// Package records is about what a coordinator stores beside its ledger: who its
// members are, pools, plans, contributions, sums and releases. It is for the rooms of
// the coordinator, which decide what is written; it knows rows, and no rules.
//
// It guarantees that
//
//   - Store.Update writes all of a transaction or nothing, and returns nil only once
//     that survives a crash of the machine;
//   - Store.View reads one moment, and neither waits for a writer nor holds one up;
//   - a body that was added up, and all bodies and sums of a study that is over, are
//     overwritten in the file;
//   - a stored sum that was damaged is not returned (ErrDamagedSum);
//   - a store that is empty, of something else, or of a newer version is not opened.
//
// Store and Tx, the interface, are in store.go; one suite of tests holds for each that
// implements them (TestStores). SQLite implements them in one file (sqlite.go, its
// transactions in sqltx.go, sqltokens.go and sqlcourier.go). migrations/ holds the
// tables, as numbered files that never change.
package records
