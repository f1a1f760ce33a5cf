// Package files turns the bytes of sites' files into records.
//
// It reads files that somebody else wrote, for an agent at a site and for a person who applies a release.
// [Detect] recognises a file by its first bytes, never by its name: its kind (delimited text, Excel
// workbook, Parquet), its packing (gzip, zstd or none) and its text encoding. [Open] returns its records
// as [dataset.Rows]; [OpenForPerson] does the same for an import that a person checks on a screen.
//
// Guarantees:
//
//   - Detection is for a person: a [Format] is found once, when a file is declared or shown on a screen.
//     Open takes the format as given and recognises nothing by content, because a file's first bytes may
//     belong to a record.
//   - A record is a line of text, a row of a sheet or a row of Parquet. Its result depends on this record
//     alone, and on the parts of the file outside all records: the header, a workbook's styles and shared
//     texts, Parquet's schema. No cell is an error.
//   - Open cuts text only at newlines, however broken a line is, so any bytes are records (package dataset has
//     the proof). OpenForPerson keeps line breaks in quoted cells, so a line may belong to the record of another
//     line, and no study uses OpenForPerson. Workbooks and Parquet are containers: a damaged one fails as a
//     whole. A bound for any two files therefore requires comparing a container with the digest from its first
//     reading; the agent does this.
//   - Memory: text and sheets are streamed. The constants max… bound the unpacked size of a packed or
//     damaged file; an error names the exceeded limit. One case has no bound: a page of a damaged Parquet
//     file may make its library request up to 2 GiB at once. Nothing is written to disk.
//
// Cells as text. A workbook's numbers are plain decimals with the 15 digits that Excel keeps,
// independent of the cell's format. A number with a date format is 2024-12-31, with a time of day
// 2024-12-31 08:30:00 (a mapping's dates are therefore ISO 8601 by default). A Parquet number is
// the shortest text of the same number. Parquet's dates, timestamps and times of day are written
// like a workbook's, with all digits of the second, and a Z if they are declared as UTC (Parquet
// stores no other zone); midnight without a Z is the date alone. Parquet has no type for durations;
// they stay whole numbers. Booleans are TRUE and FALSE in workbooks, as Excel exports them, and
// true and false in Parquet.
package files
