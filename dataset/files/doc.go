// Package files turns the bytes of sites' files into records.
//
// It reads files that somebody else wrote, for an agent at a site and for a person who applies a
// release. [Detect] recognises a file by its first bytes, never by its name: its kind (delimited
// text, Excel workbook, Parquet), its packing (gzip, zstd or none) and its text encoding. [Open]
// returns its records as [dataset.Rows]; [OpenForPerson] does the same for an import that a person
// checks on a screen.
//
// Guarantees:
//
//   - Detection is for a person: a [Format] is found once, when a file is declared or shown on a
//     screen. Open takes the format as given and recognises nothing by content, because a file's
//     first bytes may belong to a record.
//   - A record is a line of text, a row of a sheet or a row of Parquet. Its result depends on this
//     record alone, and on the parts of the file outside all records: the header, a workbook's
//     styles and shared texts, Parquet's schema. No cell is an error.
//   - What is repaired, dropped or left out is counted by cause, or named by column, in the Remarks
//     of Rows: short rows, empty cells or notes right of the table, broken quotes, columns of
//     lists.
//   - Empty rows, a text that a line break without quotes cuts, rows below last_row, and totals or
//     a footer at the end are told by around. OpenForPerson leaves empty rows out and joins the
//     lines of such a text; Open reads each line alone.
//   - The width of a text's rows is part of its Format: a row with more cells is malformed, even if
//     they are empty, because a delimiter in a text without quotes shifts a row.
//   - Where the table stands (first_row, sheet, delimiter) is never guessed by Open.
//     [ProposeTextFormat] and [ProposeComment] guess it for a draft that a person checks.
//   - Open cuts text only at line ends, however broken a line is, so any bytes are records (package
//     dataset has the proof). OpenForPerson keeps line breaks in quoted cells, so a line may belong
//     to the record of another line, and no study uses OpenForPerson. Workbooks and Parquet are
//     containers: a damaged one fails as a whole. A bound for any two files therefore requires
//     comparing a container with the digest from its first reading; the agent does this.
//   - Parquet that contradicts itself is an error: what was read is held against the file's own
//     numbers of rows and nulls, and its smallest and largest values (heldValues has the rules).
//     Codings that the library reads wrongly are refused.
//   - Memory: text and sheets are streamed. What a file that a person opens unpacks to, makes its
//     reader hold, and gives in cells has a budget by the file's size (budgetOf); elements of XML
//     in each other, and bytes and cells of a line, a tag and a row, have limits. An error names
//     what was exceeded. Time is linear in these. Nothing is written to disk.
//
// Cells as text. A workbook's numbers are plain decimals with the 15 digits that Excel keeps,
// independent of the cell's format. A number with a date format is 2024-12-31, with a time of day
// 2024-12-31 08:30:00 (a mapping's dates are therefore ISO 8601 by default). A Parquet number is
// the shortest text of the same number. Parquet's dates, timestamps and times of day are written
// like a workbook's, with all digits of the second, and a Z if they are declared as UTC (Parquet
// stores no other zone); midnight without a Z is the date alone. A span of time (Excel's [h]:mm,
// Arrow's duration) is its number of days, as Excel stores it. Booleans are TRUE and FALSE in
// workbooks, as Excel exports them, and true and false in Parquet.
//
// # In which order to read it
//
//  1. What a file may take: budget.go.
//  2. Text: written.go (how it is written).
//  3. Workbooks: xmlpart.go (XML of one name space), serial.go (dates), book.go (the archive),
//     workbook.go (rows of a sheet).
//  4. Parquet: arrow.go (Arrow's types), parquettypes.go (values as text), parquetbool.go
//     (runs of true and false), parquetpages.go (what the library would hold), parquetheld.go
//     (the file's own statistics), parquet.go (rows).
//  5. All: around.go (what stands around a table's records), form.go (recognise and open),
//     layout.go (where the table stands).
package files
