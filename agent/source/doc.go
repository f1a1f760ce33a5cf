// Package source holds a site's records, and what a person of the site declared about them: how a file
// is written, what its columns mean, and how many records a study gets. The agent gets a study's records
// from Sources; this package knows no study's folder, no ledger and no network. It needs folders for
// declarations and imports, a key, and a clock.
//
// A person imports a source once: its records are coded by the schema (dataset.Coding) and kept as a
// table, in the order of a keyed digest. Studies read the table, all of it or a block at a time. A
// source that is written anew every day has no table: each study reads its file, line by line.
//
// It guarantees:
//
//   - A source is read as a person declared it: a plan has no say in that, and where the configuration
//     comes to differ from the declaration a person is asked again.
//   - Whether a plan fits a source follows from the plan and the Declaration alone.
//   - Equal records make equal tables, byte for byte, whatever their order and their kind of file.
//   - Records never fails: it gives the declared number of records, empty ones where the import or the
//     file cannot be read as declared (Sources.Records and Held.Blocks have the proofs).
//   - An import that ends early leaves the previous one, and nothing else.
//   - Errors never quote a file, except to the person who declares it; a Report and Seen are for the
//     eyes of the site.
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
