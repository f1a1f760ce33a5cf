// Package files is about files as sites have them, and how their bytes become
// records.
//
// It is for whoever reads a file that somebody else wrote: an agent at a site, a
// person who applies a release. [Detect] says by the first bytes, never by a
// file's name, what kind of file it is (delimited text, an Excel workbook,
// Parquet; packed with gzip or zstd or not; how its text is encoded), and [Open]
// gives its records, one after the other, as [dataset.Rows].
//
// Guarantees:
//
//   - Detecting is for a person: a [Format] is found once, when a file is declared
//     or read on a screen. Open takes it as given and recognises nothing by
//     content, because which bytes a file begins with may be a record's.
//   - A record is a line of text, a row of a sheet, a row of Parquet. What it
//     becomes hangs on it alone, and on what the file says before or beside all
//     records: its header, the styles and shared texts of a workbook, the schema
//     of Parquet. No cell is an error.
//   - Text is cut at newlines and nowhere else, whatever was broken in between,
//     so any bytes are records (package dataset holds the proof). Workbooks and
//     Parquet are containers: a damaged one fails as a whole. Whoever needs a
//     bound for any two files must hold a container to the digest under which it
//     was read before; the agent does.
//   - Memory: text and sheets are read as a stream. What a packed or damaged file
//     may make of few bytes is bounded by the limits below; more is an error
//     that names the limit. One thing is not: a page of a damaged Parquet file may
//     make its library ask for up to 2 GiB at once. Nothing is written to a disk.
//
// Cells as text. Numbers of a workbook are written in full, in plain decimals,
// with the 15 digits that Excel keeps, whatever its cell's format shows; a number
// under a date format is 2024-12-31, with a time of day 2024-12-31 08:30:00,
// which is why a mapping's dates are ISO 8601 by default. Parquet's numbers are the
// shortest text that gives the same number; its dates, timestamps and times of day are
// written alike, with every digit of a second that they have, and a Z where they are said
// to be of UTC (a zone's name Parquet does not keep); midnight is the date alone. Durations,
// for which it has no type, are the whole numbers that they are written as. Booleans are
// TRUE and FALSE in workbooks, as Excel exports them, and true and false in Parquet.
package files
