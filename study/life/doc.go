// Package life is about a study's life, from draft to release or failure, and about the one
// way to a release.
//
// It is for the coordinator, which stores what happens, and for the simulator and the fault
// tests, which drive the same code.
// It guarantees that
//
//   - the machine (Study) is pure: events in, effects out, no clock, socket or disk;
//   - the number of contributions is fixed when the study seals, before noise is drawn, and a
//     ledger that answered for one set of contributions answers for no other;
//   - a release that is made again after a crash has the same noise and costs nothing more.
//
// Read machine.go first, then conclude.go.
package life
