// Package folder manages a coordinator's folder while nothing runs there: it makes, reads, backs up,
// restores and reconciles it, and gives it new keys. It serves the operators' commands, and the
// coordinator, which opens the folder.
//
// A folder holds coordinator.yaml (Config), caucus.db (records), ledger.db (the privacy ledger's journal), the keys
// of the authority and the signer (Keyring), keyring.json once they were changed, shares.db and aggregator.key
// where there is a helper, and operator.yaml, the first operator's profile. Only its owner may read it. One process
// runs on it at a time (Hold). Beside it lies the head file (Head).
//
// It guarantees:
//
//   - Init, Backup, Restore, Move and Rotate, killed anywhere, have happened or not.
//   - A backup is of one moment, also of a running coordinator, and was tried out before it gets its
//     name.
//   - Whoever holds the folder holds its authority, so NewOperator grants nothing new.
//   - The head file, which no restore puts back, proves that a folder was put back; Reconcile then
//     charges what was published and is lost, and PutBack ends what was released and forgotten.
//   - It releases nothing: no noise is drawn here.
package folder
