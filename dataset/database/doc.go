// Package database is about the records of a read-only SQL query.
//
// It serves a person who imports a site's records once, out of PostgreSQL, MySQL, MariaDB or
// SQLite. A [Query] says which database and which statement; [Open] gives its rows, one after the
// other, as [dataset.Rows]. Nothing here runs while a study takes place.
//
// Guarantees:
//
//   - It reads. The statement is one SELECT: [Query.Validate] refuses others by their words, and the
//     database refuses them since the transaction is read only (SQLite: since the file is open for
//     reading). Two things stay with the account's rights: a function with effects outside of
//     transactions, such as one that writes a file of the server, and MySQL's temporary tables.
//     Give the account the right to read, and no other.
//   - All rows are of one moment: PostgreSQL's REPEATABLE READ, MySQL's consistent snapshot (InnoDB's
//     tables alone have one), SQLite's transaction. A database that goes away, a timeout and too many
//     rows are errors; they never look like the last row. SQLite sees a timeout only before its first
//     row and after each one.
//   - No row is kept: memory does not grow with their number.
//   - No error shows the address, the password or a cell. What a database says while it runs a
//     statement may quote a record, so an error has the database's code and words of this package.
//     What it says of a statement's text, such as an unknown column, is shown.
//   - The password stands in a file that its owner alone may read.
//
// Cells as text. A value is the text that it has in a CSV file, or in Parquet as package files reads
// it, whatever the settings of server and account are:
//
//   - NULL is empty. Texts, enums and UUIDs are without the spaces around them.
//   - Whole numbers are plain, decimals as the database writes them, floats the shortest text that
//     gives the same number. What is not finite is empty.
//   - Booleans are true and false. MySQL has none: its columns are 0 and 1.
//   - Dates are 2024-12-31. Timestamps are 2024-12-31 08:30:00 with every digit of a second that they
//     have; midnight is the date alone. Timestamps with a zone (MySQL: all of type TIMESTAMP) are in
//     UTC, with a Z, so their date may be another than at the site: where the date counts, let the
//     query give the local one. Outside of the years 1 to 9999 a date is empty.
//   - SQLite has types of values, not of columns. It reads dates in columns that are declared DATE,
//     DATETIME or TIMESTAMP, booleans in those declared BOOLEAN; other texts stay as they are.
//   - Other types, such as bytea, intervals, arrays and JSON, are refused: leave the column out or
//     cast it.
//
// Every column of a query counts as derived: a bound for one record holds only if each row comes
// from one record and is in the result whatever the others are. The person who declares the source
// answers for that. [Derives] points to what they should look at.
package database
