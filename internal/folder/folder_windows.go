package folder

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile does not wait.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// Sync does nothing: see the package.
func Sync(string) error { return nil }
