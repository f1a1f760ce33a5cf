package folder

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile does not wait.
func lockFile(f *os.File, shared bool) error {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if shared {
		how = 0
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// Sync does nothing: see the package.
func Sync(string) error { return nil }
