// Package watch is about what people and machines look at of a coordinator that runs: a
// page, metrics, whether it lives and is ready, and who called when. It is for whoever
// looks after the machine, over a loopback address. It changes nothing.
//
// It guarantees that
//
//   - what it reads are snapshots and counters: no look waits for a fold or a draw, and
//     none is kept waiting by a look;
//   - logs and metrics hold names, states and counts, never a feature, a label or an
//     unreleased number; metrics name no party and no study;
//   - of a contribution nobody sees more than who made it, not even when;
//   - the page is for who has the folder: it asks for a link that was made there;
//   - a reader who asks for much, often, takes a bounded part of the machine.
//
// It asks the server by Coordinator, an interface of three methods. watched.go listens;
// collector.go and metrics.go are what is counted; page.go, pagelook.go and ledgerlook.go
// are the page; presence.go is who called, and what each waits for.
package watch
