// Package database reads the records of a read-only SQL query from PostgreSQL, MySQL, MariaDB or
// SQLite. A [Query] holds the statement; [Open] gives its rows, one after the other, as
// [dataset.Rows].
//
//   - It only reads. [Query.Validate] refuses other statements by their words, and the database
//     refuses them, because the transaction is read only and SQLite's file is opened for reading.
//     Functions with effects outside transactions and MySQL's temporary tables and files depend on
//     the account: give it the right to read, and no other.
//   - All rows are from one moment (in MySQL, only of InnoDB tables). A lost database, a timeout
//     and too many rows are errors, and never look like the last row. SQLite notices a timeout only
//     before its first row and after each row. No row is kept.
//   - No error shows the address, the password or a cell. A database's message is shown only while
//     it parses the statement, such as for an unknown column, because later messages may quote a
//     record.
//
// A cell is the text that the value would have in a CSV file (or in Parquet, as package files reads
// it), whatever the settings of server and account are, except the time zone:
//
//   - NULL, infinite numbers, NaN and dates outside the years 1 to 9999 are empty. Spaces around
//     texts are removed.
//   - Decimals are as the database writes them, floats the shortest text of the same number.
//     Booleans are true and false, but 0 and 1 in MySQL, which has no booleans.
//   - Timestamps are 2024-12-31 08:30:00 with all digits of the second; midnight is the date alone.
//     Those with a zone (MySQL: all of type TIMESTAMP) are written in the session's zone, without
//     naming it. It is the account's own zone, as at the site, or that of the source's mapping.
//   - SQLite reads dates in columns declared DATE, DATETIME or TIMESTAMP, booleans in columns
//     declared BOOLEAN; other texts stay unchanged.
//   - Other types, such as bytea, intervals, arrays and JSON, are refused.
//
// Every column of a query counts as derived: a bound for one record holds only if each row comes
// from one record and is in the result independently of all others. The person who declares the
// source vouches for this. [RowDependences] lists what to check.
package database
