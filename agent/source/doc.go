// Package source is about what a site's records are, and what a person of the site declared of
// them: how a file is written, what its columns mean, and how many records a study gets. It is
// for the agent, which gets a study's records from Sources, and knows nothing of it: no study's
// folder, no ledger, no network. It needs folders for declarations and imports, a key, and a clock.
//
// A person imports a source once: its records are coded by the schema (dataset.Coding) and kept as
// a table, in the order of a keyed digest. Studies read the table, all of it or some records at a
// time. A source that is written anew every day has no table: each study reads its file, line by
// line.
//
// It guarantees that
//
//   - a source is read as a person declared it: a plan has no say in that, and where the
//     configuration comes to say something else a person is asked again;
//   - whether a plan fits a source follows from the plan and the Declaration alone;
//   - equal records make equal tables, byte for byte, whatever their order and their kind of file;
//   - Records never fails: it gives as many as were declared, empty ones where the import or the
//     file cannot be read as it was declared (Sources.Records and Held.Blocks have the proofs);
//   - what ends an import leaves the one before, and nothing else;
//   - of what a file holds errors say no word, but those to the person who declares it; a
//     Report and what was Seen are for the eyes of the site.
//
// # In which order to read it
//
// No file uses what a later one declares.
//
//  1. What a site says: source.go, declaration.go.
//  2. From a file or query to a table: table.go, reading.go (a file becomes coded records), import.go
//     (they become a table).
//  3. What a study gets, and what a person is shown: records.go, report.go, sources.go.
package source
