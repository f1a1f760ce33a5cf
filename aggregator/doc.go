// Package aggregator runs one of the two aggregators of a study. The coordinator and the helper
// each hold one share of every contribution. They check its proof together, and each releases its
// share of the sum with its own noise.
//
// Both daemons use this package. So does a party's agent, which checks the helper's agreement
// (CheckAcceptance) and makes the upload with both shares (Contribute). A Server keeps its studies
// in a file and draws noise through its own ledger. A Peer is the helper as the coordinator calls
// it. docs/aggregators.md gives the order of a study's steps, with what each server stores before
// it answers.
//
// # What a Server guarantees
//
// Whatever the other server does, and whenever the process is killed:
//
//   - The verify key of a study combines a half from each server. Each half is drawn once, and
//     revealed only after the other server committed to its own half. A different acceptance, half,
//     set or contribution for the same study or party is ErrConflict.
//   - Each contribution is prepared once under that key, and is in the sum at most once. One
//     transaction stores verdict, message and sum before the message leaves.
//   - A server releases the sum over exactly the set that both servers signed: the contributions
//     that this server accepted, at least the plan's minimum. The set is one of the release's
//     terms, so the ledger releases no other set.
//   - A server whose store or ledger was restored to an older state answers nothing (ErrBehind)
//     until Reconcile. The head file, which lies elsewhere, counts every transaction and is written
//     before anything leaves.
//   - A helper gets a new sealing key when it is reconciled, so shares encrypted to the old key are
//     never prepared again. A coordinator that may have forgotten a study refuses each upload made
//     under an earlier acceptance of the helper (CheckUpload).
//   - A share opens only under the acceptance for which it was encrypted. If a helper's whole
//     machine is restored, head file included, the helper can draw noise again for a study that it
//     had accepted. Its releases name its step and its ledger's line. It notices the loss when the
//     coordinator shows the helper a share that the helper signed and no longer has (Recall).
//   - The size of everything that a server stores or sends about a contribution follows from the
//     plan and the declared weight. An upload is deleted when its verdict is stored, and messages
//     and sum are deleted when the study is released or fails. A coordinator tells its helper of
//     the failure (ReportFailure).
//
// # What a Server cannot do
//
// A server cannot check who a party is. The coordinator says so and can invent parties, so each
// server adds the full noise. A server that breaks the protocol can prevent a release, spoil the
// sum, and have a party refused. Both servers together see everything.
//
// # In which order to read it
//
// No file uses a declaration of a later one: documents.go (what is signed), head.go (the progress
// file), store.go (the database), server.go (a server and its transactions), helper.go (the
// helper's calls), recall.go (a forgotten release), coordinator.go (the coordinator's calls),
// outcome.go (both shares), places.go (studies under way), reconcile.go (after a restore),
// pinned.go (TLS between the two), wire.go (gRPC), bycode.go (a helper whose code is known)
package aggregator
