package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

var ErrHeld = errors.New("another process holds it")

// Lock takes a folder's lock file, so that only one process works there. It does not wait: the error wraps ErrHeld
// if another process holds the lock. The lock ends with release or with the process, also if that is killed.
func Lock(dir string) (release func(), err error) { return LockFile(filepath.Join(dir, "lock")) }

func LockFile(path string) (release func(), err error) { return lock(path, false) }

// ShareFile takes a shared lock on a file. It fails while a process holds the file by LockFile.
func ShareFile(path string) (release func(), err error) { return lock(path, true) }

func lock(path string, shared bool) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, shared); err != nil {
		f.Close()
		if errors.Is(err, errBusy) { // whose own words are "resource temporarily unavailable"
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return func() { unlockFile(f); f.Close() }, nil
}
