// Package health is about whether a site's agent can do its work, and does: what a person is
// told who asks (Check), what the agent says of itself when it starts (Locally), and what those
// who watch its machine see (Counts). It is for whoever looks after a site.
//
// It guarantees that
//
//   - it changes, spends and declares nothing;
//   - each Result says how a thing is, or what is wrong and what to do, in a line. What Check
//     tells of records is for the eyes of the site;
//   - what an agent says when it starts needs no look into a source's file, as when its first
//     poll comes must not hang on that;
//   - metrics and readiness are the same whatever the records hold (Counts has the proof), and
//     name no study;
//   - while a contribution is prepared on the folder, no check calls the coordinator.
//
// result.go is what a check finds; constants.go, programs.go, sources.go and asked.go look at
// one thing each, checkup.go at all; metrics.go is what is watched.
package health
