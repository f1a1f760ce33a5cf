// Package health is about whether a site's agent can do its work, and does: what a person is
// told who asks (Check), what the agent says of itself when it starts (Locally), and what those
// who watch its machine see (Counts). It is for whoever looks after a site.
//
// It guarantees that it changes, spends and declares nothing; that nothing an agent says when it
// starts needs a look into a source's file; that metrics and readiness are the same whatever the
// records hold (Counts has the proof), and name no study; and that no check calls the coordinator
// while a contribution is prepared on the folder. What Check tells of records is for the eyes of
// the site.
package health
