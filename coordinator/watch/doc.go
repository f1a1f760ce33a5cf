// Package watch monitors a running coordinator: a web page, metrics, liveness and readiness, and
// the time of each member's last call. It serves whoever looks after the machine, over a loopback
// address, and changes nothing.
//
// It guarantees:
//
//   - The package reads snapshots and counters. It never waits for a fold or a draw, and delays
//     neither.
//   - Logs and metrics contain names, states and counts, never a feature, a label or an unreleased
//     number. Metrics name no party and no study.
//   - Of a contribution, the page shows only the party, and not even the time.
//   - The page opens only by a link that is made in the coordinator's folder, so only those with
//     access to the folder see it.
//   - A reader that asks often gets a bounded share of the machine.
//
// The package reads the server through Coordinator, an interface of three methods. watched.go
// listens; collector.go and metrics.go count; page.go, pagelook.go and ledgerlook.go make the page;
// calltracker.go records each member's calls and waits.
package watch
