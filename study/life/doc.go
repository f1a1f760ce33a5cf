// Package life is about a study's life, from draft to release or failure. The coordinator, the
// simulator and fault tests use it.
//
// It guarantees:
//
//   - The machine (Study) is pure: events in, effects out, no clock, socket or disk.
//   - The number of contributions is fixed when the study seals, before noise is drawn. After a
//     ledger has released the sum of one set of contributions, it releases the sum of no other set.
//   - A release made again after a crash has the same noise and costs nothing more.
//
// Read machine.go first, then conclude.go.
package life
