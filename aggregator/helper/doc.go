// Package helper is the daemon of a helper, which is the second of the two servers of a study with
// noise by aggregators. An organisation other than the coordinator's runs it.
//
// A helper serves one coordinator, whose key its operator pinned, and only studies that its policy
// allows. Package aggregator carries out a study's steps with their guarantees. This package adds:
//
//   - The folder: helper.yaml, the signing and the sealing key, the store of shares, the ledger,
//     and the coordinator's plans with their pools. Only its owner may read it, and one process at
//     a time runs on it. The head file lies beside the folder or on another disk, and in no backup
//     of the folder.
//   - Limits: plan and pool must match their digests, the policy must allow the study, and at most
//     Config.MaxPlans plans and Config.MaxStored bytes are stored.
//   - After a restore from a backup, Reconcile charges the entries that the ledger lacks, makes a
//     new sealing key and fails every running study.
//
// The helper logs studies and reasons, never a share. It logs a party's name only when it refuses
// the party's contribution.
package helper
