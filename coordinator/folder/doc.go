// Package folder manages a coordinator's folder: it makes the folder, backs it up, restores and
// reconciles it, and changes its keys. While a coordinator runs on a folder, calls that change the
// folder are refused. The package serves the operators' commands, and the coordinator, which opens
// the folder.
//
// A folder holds coordinator.yaml (Config), caucus.db (records), ledger.db (the privacy ledger's
// journal), the keys of the authority and the signer (Keyring), keyring.json after the first change
// of keys, shares.db and aggregator.key if there is a helper, and operator.yaml, the first
// operator's profile. Only its owner may read it. One process at a time works on it (Lock). The
// head file (LedgerHead) lies beside it.
//
// It guarantees:
//
//   - Init, Backup, Restore, MoveToPostgreSQL and Rotate are atomic: a killed call has taken full
//     effect or none.
//   - A backup shows one moment, even if the coordinator runs. It gets its name only after it was
//     checked.
//   - NewOperator grants nothing new, because whoever holds the folder holds its authority.
//   - No restore changes the head file. So the head file proves that a folder was restored from an
//     older backup. Reconcile then charges the releases that the ledger lost, and RestoreReleases
//     stores releases that the store lost.
//   - No noise is drawn here, and nothing is released.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except within the circle that part 1 begins with.
//
//  1. config.go and stores.go (the databases), which use each other; head.go, keyring.go.
//  2. operators.go, init.go, helper.go: what makes a folder.
//  3. backup.go, move.go: what copies one.
//  4. evidence.go, putback.go: what a ledger lacks after a restore.
package folder
