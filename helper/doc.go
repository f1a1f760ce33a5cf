// Package helper is about the daemon of a helper: the second of the two servers of a study
// with noise by aggregators, run by another organisation than the coordinator's.
//
// It is for whoever runs one. A helper serves one coordinator, whose key its operator pinned,
// and the studies that its policy allows; what it does in a study is the room aggregator's to
// say, and to guarantee. This room adds
//
//   - the folder: helper.yaml, the signing and the sealing key, the store of shares, the
//     ledger, and the plans that the coordinator brought with their pools. Only its owner may
//     read it, and one process runs on it at a time. Beside it, or on another disk, lies
//     the head file, which is in no backup of it;
//   - that plan and pool are what their digests say, that nothing is served that the policy
//     does not name, and that no more of them are kept than Config.MaxPlans and MaxStored say;
//   - Reconcile, after a restore: what the ledger lacks is charged, another sealing key is made,
//     and every study under way fails here.
//
// It logs studies and reasons, never a share, and no party's name but where it refuses what a
// party sent.
package helper
