// Package source holds a site's records, and a person's declaration about them: the format of a file,
// the meaning of its columns, and the number of records that a study gets. The agent gets a study's
// records from Sources. This package uses no study's folder, ledger or network; it needs folders for
// declarations and imports, a key, and a clock.
//
// A person imports a source once: its records are coded by the schema (dataset.Coding) and stored as a
// table, in the order of a keyed digest. Studies read the table, whole or by blocks. A source that is
// written anew every day has no table: each study reads its file, line by line.
//
// It guarantees:
//
//   - A source is read as a person declared it: a plan has no say in this, and if the configuration
//     comes to differ from the declaration a person is asked again.
//   - Whether a plan fits a source follows from the plan and the Declaration alone.
//   - Equal records make equal tables, byte for byte, in any order and any file format.
//   - Records never fails: it gives the declared number of records, empty ones if the import or the file
//     cannot be read as declared (Sources.Records and Held.Blocks have the proofs).
//   - An interrupted import leaves the previous one, and nothing else.
//   - Errors never quote a file, except to the person who declares it; Report and Seen are for the site
//     only.
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
