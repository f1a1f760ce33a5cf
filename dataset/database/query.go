package database

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"caucus/internal/yamlfile"
)

// What Query.Driver may say.
const (
	Postgres = "postgres"
	MySQL    = "mysql"
	SQLite   = "sqlite"
)

const (
	usualTimeout   = 30 * time.Minute
	longestTimeout = 24 * time.Hour
	usualRows      = 50_000_000
	// longestText bounds the two files that a query names, in bytes.
	longestText = 1 << 20
)

// Query is one statement that reads a site's records from its own database.
type Query struct {
	// Driver is the kind of the database: postgres, mysql (for MariaDB too) or sqlite.
	Driver string `yaml:"driver"`
	// DSNFile holds the address of the database with the account's name and password, which never
	// stand here: postgres://name:password@host:5432/database, name:password@tcp(host:3306)/database
	// for mysql, the path of the file for sqlite. Its owner alone may read it (mode 0600). The
	// account should have the right to read and no other.
	DSNFile string `yaml:"dsn_file"`
	// SQL is the one statement, a SELECT. A record is a row, in any order.
	SQL string `yaml:"sql"`
	// SQLFile holds the statement in place of sql.
	SQLFile string `yaml:"sql_file"`
	// Timeout is how long the whole query may take; 30m where it is not given.
	Timeout time.Duration `yaml:"timeout"`
	// Rows are the most rows that the query may give; 50,000,000 where it is not given. More are an
	// error.
	Rows int `yaml:"rows"`
}

// Validate says which field is wrong and what to do.
func (q Query) Validate() error {
	switch {
	case !slices.Contains([]string{Postgres, MySQL, SQLite}, q.Driver):
		return fmt.Errorf("driver: %q: write postgres, mysql (for MariaDB too) or sqlite", q.Driver)
	case q.DSNFile == "":
		return errors.New("dsn_file: name the file that holds the database's address and password: they stand nowhere else")
	case (q.SQL == "") == (q.SQLFile == ""):
		return errors.New("sql: write the query, or give the file that holds it as sql_file: one of the two")
	case q.Timeout != 0 && (q.Timeout < time.Second || q.Timeout > longestTimeout):
		return fmt.Errorf("timeout: %v: write 1s to %v, or leave it out", q.Timeout, longestTimeout)
	case q.Rows < 0:
		return fmt.Errorf("rows: %d: write the most rows that are right, or leave it out", q.Rows)
	case q.SQL != "":
		return q.reads(q.SQL)
	}
	return nil
}

// Below puts the files of a query in a folder, where they have no place of their own.
func (q Query) Below(folder string) Query {
	q.DSNFile, q.SQLFile = yamlfile.Below(folder, q.DSNFile), yamlfile.Below(folder, q.SQLFile)
	return q
}

// Text is the statement, from sql or from sql_file.
func (q Query) Text() (string, error) {
	if q.SQLFile == "" {
		return q.SQL, q.reads(q.SQL)
	}
	file, err := os.Open(q.SQLFile)
	if err != nil {
		return "", fmt.Errorf("sql_file: %w", err)
	}
	defer file.Close()
	text, err := short("sql_file", file)
	if err != nil {
		return "", err
	}
	return text, q.reads(text)
}

// address is what the DSN file holds.
func (q Query) address() (string, error) {
	file, err := os.Open(q.DSNFile)
	if err != nil {
		return "", fmt.Errorf("dsn_file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("dsn_file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("dsn_file: %s has mode %04o, so others may read the password: run chmod 600 on it", q.DSNFile, mode)
	}
	text, err := short("dsn_file", file)
	if text == "" && err == nil {
		err = fmt.Errorf("dsn_file: %s is empty: write the database's address and password in it", q.DSNFile)
	}
	return text, err
}

// short reads a short text without the mark that editors put before it.
func short(key string, file *os.File) (string, error) {
	text, err := io.ReadAll(io.LimitReader(file, longestText+1))
	if err == nil && len(text) > longestText {
		err = fmt.Errorf("%s has more than %d bytes: name another file", file.Name(), longestText)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")), nil
}
