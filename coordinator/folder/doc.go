// Package folder is about what lies in a coordinator's folder, and what is done to it
// while nothing runs there: made, read, backed up, restored, given new keys, reconciled.
// It is for operators, whose verbs it is, and for the coordinator, which opens it.
//
// A folder holds coordinator.yaml (Config), caucus.db (records), ledger.db (the privacy
// ledger's journal), the keys of the authority and the signer (Keyring), keyring.json
// once they were changed, shares.db and aggregator.key where there is a helper, and
// operator.yaml, the first operator's profile. Only its owner may read it. One process
// runs on it at a time (Hold). Beside it lies the head file (Head).
//
// It guarantees that
//
//   - Init, Backup, Restore and Rotate, killed anywhere, have happened or not;
//   - a backup is of one moment, also of a coordinator that runs, and was tried out
//     before it has its name;
//   - whoever holds the folder holds its authority, so NewOperator grants nothing new;
//   - the head file, which goes back with no restore, says of a folder that was put
//     back that it was; Reconcile then charges what was published and is lost, and
//     PutBack ends what was released and forgotten;
//   - it releases nothing: no noise is drawn here.
package folder
