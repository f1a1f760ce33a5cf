package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Create makes an empty file of mode 0600, which SQLite fills. SQLite gives its side files the same
// mode. If the file exists, the error is fs.ErrExist.
func Create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case err != nil:
		return fmt.Errorf("%w: the folder must exist and be writable", err)
	}
	return f.Close()
}

// Check refuses a file that is missing (fs.ErrNotExist), empty, open to other users or not
// writable, because a lost file must not pass for a new one. Open makes the same check for tables
// in PostgreSQL.
func Check(path string) error {
	if IsServer(path) {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: restore it from a backup of the whole folder", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: give another path", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o, so others may open it: run chmod 600 on it", path, info.Mode().Perm())
	case info.Size() == 0:
		return fmt.Errorf("%s: it is empty, so something else emptied it: restore it from a backup of the whole folder", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: it must be writable", err)
	}
	return f.Close()
}
