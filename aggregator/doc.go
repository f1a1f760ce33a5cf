// Package aggregator is about one of the two aggregators of a study: the server, coordinator
// or helper, that holds one share of every contribution, checks each proof with the other
// server, and releases its share of the sum with noise of its own.
//
// It is for the two daemons, and for a party's agent, which makes the upload that both take
// apart (Contribute) and checks what the helper agreed to (CheckAcceptance). A Server keeps
// its studies in a file and its noise in a ledger of its own; a Peer carries what the
// coordinator asks of the helper. The order of a study, with what each server has on its
// disk before it says anything, is in docs/aggregators.md.
//
// # What a Server guarantees
//
// Whatever the other server does, and whenever the process is killed:
//
//   - The verify key of a study is made of a half of each, drawn here once; the half is
//     told only after the other server committed to its own. Another acceptance, half, set or
//     contribution for the same study or party is ErrConflict.
//   - Each contribution is prepared once, under that key, and is in the sum once or not at
//     all: verdict, message and sum are one transaction, before the message leaves.
//   - What is released is the sum of exactly the set that both signed, which is what this
//     server accepted, and has at least as many contributions as the plan's minimum. The
//     set is one of the terms of the release: the ledger answers for no other.
//   - A store or ledger that was put back to an older state says nothing more (ErrBehind),
//     until Reconcile: the head file, which lies elsewhere, counts every transaction, and is
//     written before anything leaves. A helper reconciles with another sealing key, so that
//     what was sealed to the first is never prepared again. A coordinator that may have
//     forgotten a study takes no upload that was made under another acceptance of the
//     helper's than it now has (CheckUpload, as each comes).
//   - A share is opened under the acceptance that it was sealed under alone. A helper whose
//     machine was put back with its head file can draw a second time of what it had accepted:
//     its release names its step and its ledger's line, and one that is shown a share of its own
//     that it lacks (Recall) is put back, and says so.
//   - What it stores and says of a contribution has a size that follows from the plan and the
//     declared weight; uploads are deleted with the verdict, messages and sum with the release
//     or the failure, which a coordinator tells its helper (Tell).
//
// # What it does not do
//
// It cannot tell who a party is: the coordinator says so, and may invent any; that is why
// noise is full at each server. A server that does not follow the protocol can keep a study
// from being released, spoil its sum, and have a party refused. Both together know everything.
//
// # In which order to read it
//
// No file uses what a later one declares: documents.go (what is signed), head.go (how
// far it is), store.go (its file), server.go (opened), upload.go (a party's), helper.go
// (its half), recall.go (a forgotten release), coordinator.go (the other half), outcome.go
// (both shares), reconcile.go (put back), wire.go (gRPC).
package aggregator
