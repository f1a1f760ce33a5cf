// Package files turns the bytes of sites' files into records.
//
// It serves readers of files that somebody else wrote: an agent at a site, a person who applies a
// release. [Detect] recognises a file by its first bytes, never by its name: its kind (delimited text,
// Excel workbook, Parquet), its packing (gzip, zstd or none) and its text encoding. [Open] gives its
// records, one after the other, as [dataset.Rows]; so does [OpenForPerson], for an import that a person
// looks at.
//
// Guarantees:
//
//   - Detection is for a person: a [Format] is found once, when a file is declared or read on a screen.
//     Open takes the format as given and recognises nothing by content, since a file's first bytes may
//     be a record's.
//   - A record is a line of text, a row of a sheet or a row of Parquet. Its result depends on it alone,
//     and on what the file says apart from all records: its header, a workbook's styles and shared
//     texts, the schema of Parquet. No cell is an error.
//   - Open cuts text at newlines and nowhere else, however broken a line is, so any bytes are records
//     (package dataset has the proof). OpenForPerson leaves line breaks in quoted cells, so a line may
//     be part of another one's record, and no study reads by it. Workbooks and Parquet are containers: a
//     damaged one fails as a whole. Whoever needs a bound for any two files must compare a container
//     with the digest under which it was read before; the agent does.
//   - Memory: text and sheets are read as a stream. The limits below bound what a packed or damaged file
//     can unpack to; beyond one, the error names it. One case is not bounded: a page of a damaged
//     Parquet file may make its library ask for up to 2 GiB at once. Nothing is written to disk.
//
// Cells as text. A workbook's numbers are written in full, in plain decimals, with the 15 digits that
// Excel keeps, whatever the cell's format shows. A number with a date format is 2024-12-31, with a time
// of day 2024-12-31 08:30:00; therefore a mapping's dates are ISO 8601 by default. A Parquet number is
// the shortest text that gives the same number. Parquet's dates, timestamps and times of day are written
// like a workbook's, with every digit of a second that they have, and a Z if they are declared as UTC
// (Parquet stores no name of a zone); midnight is the date alone. Parquet has no type for durations;
// they stay whole numbers. Booleans are TRUE and FALSE in workbooks, as Excel exports them, and true and
// false in Parquet.
package files
