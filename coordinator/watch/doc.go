// Package watch monitors a running coordinator: a page, metrics, liveness and readiness, and who called
// when. It serves whoever looks after the machine, over a loopback address, and changes nothing.
//
// It guarantees:
//
//   - It reads snapshots and counters: it never waits for a fold or a draw, and delays neither.
//   - Logs and metrics contain names, states and counts, never a feature, a label or an unreleased
//     number. Metrics name no party and no study.
//   - Of a contribution nobody sees more than its party, not even the time.
//   - The page is for those who have the folder: it opens only by a link made there.
//   - A reader that asks often takes a bounded part of the machine.
//
// It asks the server through Coordinator, an interface of three methods. watched.go listens;
// collector.go and metrics.go count; page.go, pagelook.go and ledgerlook.go make the page; presence.go
// records who called and what each waits for.
package watch
