// Package source is about what a site's records are, and what a person of the site declared
// of them: how a file is written, what its columns mean, and how many records a study gets.
// It is for a site's own (Source is an entry of its configuration), and for the agent, which
// gets a study's records from Sources.
//
// It guarantees that
//
//   - a source is read as a person declared it and in no other way: its form, its mapping
//     and its schema are in the Declaration, a plan has no say in them, and where the
//     configuration comes to say something else a person is asked again;
//   - whether a plan fits a source follows from the plan and the declaration, never from
//     what the file holds at the time (Declaration.Objections);
//   - Records never fails: it gives as many as were declared, empty ones where the file
//     cannot be read as it was declared (Sources.Records, and the proof at take);
//   - a workbook or a Parquet file is read only as it was when it was declared;
//   - of what a file holds, errors say no word, but those to the person who declares it;
//     a Report and a Reading are for the eyes of the site.
//
// It knows no study's folder, no ledger and no network. It needs a folder for declarations
// and a clock. What is noted there is written whole, and synced.
//
// Read source.go (what is configured) after expected.go, then declaration.go, file.go and
// reading.go (how a file is read), report.go, and sources.go, which has them all.
package source
