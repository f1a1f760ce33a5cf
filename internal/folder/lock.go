package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked is wrapped where a lock was refused, also if the file system cannot lock at all.
var ErrLocked = errors.New("another process holds it")

// Lock takes a folder's lock file, so that only one process works there. It does not wait: the
// error wraps ErrLocked if another process holds the lock. The lock ends with release or with the
// process, also if that is killed.
func Lock(dir string) (release func(), err error) { return LockFile(filepath.Join(dir, "lock")) }

// ErrOthersMayWrite says that other accounts may write in a folder.
var ErrOthersMayWrite = errors.New("other accounts of this machine may write in it")

// RefuseShared refuses a folder in which an account other than this process's and root may write,
// because it could plant files that a daemon would take for its own. Root may open the folder of
// any account.
func RefuseShared(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	switch {
	case shared(info, 0o022):
		err = fmt.Errorf("%w: look whether all in it is the daemon's, then run chmod go-w %s",
			ErrOthersMayWrite, dir)
	case !mine(info) && os.Geteuid() != 0:
		err = fmt.Errorf("%w, since it belongs to one: run the daemon as that account", ErrOthersMayWrite)
	}
	if err != nil {
		return fmt.Errorf("folder %s, mode %04o: %w", dir, info.Mode().Perm(), err)
	}
	return nil
}

// ReadSecret reads a secret that this account or root wrote for itself: a file that others may read
// or write, or that is another's, is an error that wraps fs.ErrPermission.
func ReadSecret(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || !mine(info) || shared(info, 0o077)) {
		err = fmt.Errorf("%s is another account's, or open to others: %w", path, fs.ErrPermission)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// LockFile takes an exclusive lock on a file, and makes the file if need be with mode 0600. It does
// not wait: the error wraps ErrLocked. Release leaves the file there.
func LockFile(path string) (release func(), err error) { return lock(path, false) }

// LockFileShared takes a shared lock on a file. It fails while a process holds the file by
// LockFile.
func LockFileShared(path string) (release func(), err error) { return lock(path, true) }

func lock(path string, shared bool) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, shared); err != nil {
		f.Close()
		if errors.Is(err, errBusy) { // whose own words are "resource temporarily unavailable"
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return func() { unlockFile(f); f.Close() }, nil
}
