// Package health checks whether a site's agent works. Check is for a person who asks, Locally for
// the log when the agent starts, and Metrics for monitoring of its machine.
//
// It guarantees that it changes, spends and declares nothing; that the report at an agent's start
// opens no source's file; that metrics and readiness do not depend on the records (Metrics has the
// proof) and name no study; and that no check calls the coordinator while a contribution is
// prepared on the folder. Check's results about records are for the site only.
package health
