// Package helper is the daemon of a helper: the second of the two servers of a study with noise by
// aggregators. An organisation other than the coordinator's runs it.
//
// A helper serves one coordinator, whose key its operator pinned, and only the studies that its policy
// allows. Package aggregator carries out a study's steps with their guarantees. This package adds:
//
//   - The folder: helper.yaml, the signing and the sealing key, the store of shares, the ledger, and the
//     coordinator's plans with their pools. Only its owner may read it, and one process runs on it at a
//     time. The head file lies beside it or on another disk, and in no backup of the folder.
//   - Plan and pool match their digests. Only studies that the policy allows are served, and at most
//     Config.MaxPlans plans and Config.MaxStored bytes are kept.
//   - After a restore, Reconcile charges the entries that the ledger lacks, makes a new sealing key and
//     fails every study under way.
//
// It logs studies and reasons, never a share, and a party's name only when it refuses that party's contribution.
package helper
