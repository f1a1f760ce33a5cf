// Package life is about a study's life, from draft to release or failure. The coordinator stores its
// events; the simulator and fault tests drive the same code.
//
// It guarantees:
//
//   - The machine (Study) is pure: events in, effects out, no clock, socket or disk.
//   - The number of contributions is fixed when the study seals, before noise is drawn. A ledger
//     that has answered for one set of contributions answers for no other set.
//   - A release made again after a crash has the same noise and costs nothing more.
//
// Read machine.go first, then conclude.go.
package life
