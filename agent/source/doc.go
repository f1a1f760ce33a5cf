// Package source is about what a site's records are, and what a person of the site declared of
// them: how a file is written, what its columns mean, and how many records a study gets. It is
// for the agent, which gets a study's records from Sources, and knows nothing of it: no study's
// folder, no ledger, no network. It needs a folder for declarations, and a clock.
//
// It guarantees that
//
//   - a source is read as a person declared it: a plan has no say in that, and where the
//     configuration comes to say something else a person is asked again;
//   - whether a plan fits a source follows from the plan and the Declaration alone;
//   - Records never fails: it gives as many as were declared, empty ones where the file cannot
//     be read as it was declared (take has the proof);
//   - of what a file holds errors say no word, but those to the person who declares it; a
//     Report and a Reading are for the eyes of the site.
//
// Read source.go, declaration.go, reading.go, report.go, and sources.go, which has them all.
package source
