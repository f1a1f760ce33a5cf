package database

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Advice says what failed in the database called name, such as "ledger", and what to do. It is ""
// for errors that are not this machine's problem: errors that do not come from SQLite or
// PostgreSQL, and broken constraints, which are bugs in the caller.
func Advice(err error, name string) string {
	switch code(err) {
	case 0:
		return serverAdvice(err)
	case sqlite3.SQLITE_CONSTRAINT:
		return ""
	case sqlite3.SQLITE_FULL:
		return "the disk is full: make room"
	case sqlite3.SQLITE_IOERR:
		return "the disk failed: check it"
	case sqlite3.SQLITE_READONLY:
		return fmt.Sprintf("the %s cannot be written: check its owner and mount", name)
	case sqlite3.SQLITE_CANTOPEN:
		return fmt.Sprintf("the %s cannot be opened: check its folder", name)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Sprintf("the file is not a Caucus %s: give another path", name)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Sprintf("the %s is damaged: restore a backup of the whole folder", name)
	case sqlite3.SQLITE_BUSY:
		return fmt.Sprintf("another process holds the %s: try again", name)
	}
	return fmt.Sprintf("the %s failed", name)
}

// IsDiskFull reports whether the disk was full. Nothing of the transaction remains then.
func IsDiskFull(err error) bool { return code(err) == sqlite3.SQLITE_FULL }

// IsDamaged reports whether an error means that a file no longer contains what was written.
func IsDamaged(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
}

// IsInterrupted reports whether a statement ended because its context ended.
func IsInterrupted(err error) bool {
	return code(err) == sqlite3.SQLITE_INTERRUPT || interrupted(err)
}

// code returns SQLite's primary code, the low byte, and 0 for any other error.
func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}
