// Package aggregator runs one of the two aggregators of a study. The coordinator and the helper each hold one share
// of every contribution, check its proof together, and each release their share of the sum with their own noise.
//
// Both daemons use it, and so does a party's agent: it checks the helper's agreement (CheckAcceptance)
// and makes the upload with both shares (Contribute). A Server keeps its studies in a file and draws
// noise through its own ledger; a Peer is the helper as the coordinator calls it. docs/aggregators.md
// gives the order of a study's steps, with what each server stores before it answers.
//
// # What a Server guarantees
//
// Whatever the other server does, and whenever the process is killed:
//
//   - The verify key of a study combines a half from each server. Each half is drawn once, and revealed
//     only after the other server committed to its own. Another acceptance, half, set or contribution
//     for the same study or party is ErrConflict.
//   - Each contribution is prepared once, under that key, and is in the sum once or not at all. One
//     transaction stores verdict, message and sum, before the message leaves.
//   - A server releases the sum of exactly the set that both servers signed: the contributions that this
//     server accepted, at least the plan's minimum. The set is one of the release's terms: the ledger
//     releases no other.
//   - A server whose store or ledger was restored to an older state answers nothing (ErrBehind) until
//     Reconcile. The head file, which lies elsewhere, counts every transaction and is written before
//     anything leaves.
//   - A helper reconciles with a new sealing key, so shares sealed to the old key are never prepared
//     again. A coordinator that may have forgotten a study refuses each upload made under an acceptance
//     of the helper other than the present one (CheckUpload).
//   - A share opens only under the acceptance that it was sealed under. If a helper's whole machine is
//     restored, head file included, it can draw noise again for a study that it had accepted. Its
//     releases name its step and its ledger's line, and it detects the loss when it is shown a share of
//     its own that it lacks (Recall).
//   - The size of everything that a server stores or says about a contribution follows from the plan and
//     the declared weight. Uploads are deleted with the verdict; messages and sum are deleted with the
//     release or the failure, which a coordinator tells its helper (Tell).
//
// # What it does not do
//
// A server cannot tell who a party is. The coordinator says so and can invent parties; therefore each
// server adds the full noise. A server that breaks the protocol can prevent a release, spoil the sum,
// and have a party refused. Both servers together see everything.
//
// # In which order to read it
//
// No file uses what a later one declares: documents.go (what is signed), head.go (the progress file),
// store.go (the database), server.go (a server and its transactions), upload.go (a party's upload),
// helper.go (the helper's calls), recall.go (a forgotten release), coordinator.go (the coordinator's
// calls), outcome.go (both shares), reconcile.go (after a restore), wire.go (gRPC).
package aggregator
