// Package source holds a site's records, and a person's declaration about them: the format of a
// file, the meaning of its columns, and the number of records that a study gets. The agent gets a
// study's records from Sources. This package uses no study's folder, ledger or network. It needs
// folders for declarations and imports, a key, and a clock.
//
// A person imports a source once. Its records are encoded by the schema (dataset.RecordCoding) and
// stored as a table, in the order of a keyed digest. Studies read the table, whole or in blocks. A
// source whose file is written again every day has no table: each study reads the file, line by
// line.
//
// It guarantees:
//
//   - A source is read as a person declared it. A plan cannot change that. If the configuration no
//     longer matches the declaration, a person is asked again.
//   - Whether a plan fits a source follows from the plan and the Declaration alone.
//   - Equal records make equal tables, byte for byte, in any order and any file format.
//   - Records never fails. It gives the declared number of records; if the import or the file
//     cannot be read as declared, they are empty ones (Sources.Records and Held.Blocks have the
//     proofs).
//   - A study at unit patient gets one record of each patient, which follows from the patient's own
//     records (choices has the proof).
//   - An interrupted import leaves the previous import, and nothing else.
//   - Errors never quote a file, except to the person who declares it. Report and Seen are for the
//     site only.
//
// # In which order to read it
//
// No file uses a declaration of a later one.
//
//  1. What a site states: source.go, declaration.go.
//  2. From a file or query to a table: table.go, reading.go (a file becomes encoded records),
//     patients.go (one record of each patient), import.go (they become tables).
//  3. What a study gets, and what a person is shown: records.go, report.go, sources.go.
package source
