// Package database reads the records of a read-only SQL query from PostgreSQL, MySQL, MariaDB or SQLite.
// A [Query] says which; [Open] gives its rows, one after the other, as [dataset.Rows].
//
//   - It only reads. The database refuses everything else, since the transaction is read only and
//     SQLite's file is open for reading; [Query.Validate] refuses it earlier, by a statement's words.
//     Functions with effects outside of transactions and MySQL's temporary tables and files are up to
//     the account: give it the right to read, and no other.
//   - All rows are of one moment (of MySQL's tables, InnoDB's alone). A database that goes away, a
//     timeout and too many rows are errors; they never look like the last row. SQLite sees a timeout
//     only before its first row and after each one. No row is kept.
//   - No error shows the address, the password or a cell. A database's own message is shown where it
//     parses the statement, such as of an unknown column; later messages may quote a record.
//
// A cell is the text that the value has in a CSV file, or in Parquet as package files reads it, whatever
// the settings of server and account are:
//
//   - NULL, numbers that are not finite and dates outside of the years 1 to 9999 are empty. Texts are
//     without the spaces around them.
//   - Decimals are as the database writes them, floats the shortest text of the same number. Booleans
//     are true and false, but 0 and 1 in MySQL, which has none.
//   - Timestamps are 2024-12-31 08:30:00 with every digit of a second that they have; midnight is the
//     date alone. Those with a zone (MySQL: all of type TIMESTAMP) are in UTC, with a Z, so their date
//     may be another than at the site: where the date counts, let the query give the local one.
//   - SQLite reads dates in columns that are declared DATE, DATETIME or TIMESTAMP, booleans in those
//     declared BOOLEAN; other texts stay as they are.
//   - Other types, such as bytea, intervals, arrays and JSON, are refused.
//
// Every column of a query counts as derived: a bound for one record holds only if each row comes from
// one record and is in the result whatever the others are. The person who declares the source answers
// for that. [Derives] points to what they should check.
package database
