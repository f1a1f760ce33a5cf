// Package health checks whether a site's agent can do its work, and does it: Check for a person who
// asks, Locally for the log when the agent starts, Counts for whoever watches its machine. It is for
// whoever looks after a site.
//
// It guarantees that it changes, spends and declares nothing; that what an agent says at its start needs
// no source's file; that metrics and readiness are the same whatever the records hold (Counts has the
// proof), and name no study; and that no check calls the coordinator while a contribution is prepared on
// the folder. What Check says about records is for the eyes of the site.
package health
