package folder

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// errBusy is what lockFile returns where another process holds the lock.
const errBusy = windows.ERROR_LOCK_VIOLATION

func lockFile(f *os.File, shared bool) error {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if shared {
		how = 0
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1,
		0, new(windows.Overlapped))
}

// unlockFile does nothing, because closing ends the lock.
func unlockFile(*os.File) {}

// mine and shared know nothing of a folder's access list, which decides on Windows.
func mine(fs.FileInfo) bool { return true }

func shared(fs.FileInfo, fs.FileMode) bool { return false }

// Sync does nothing: see the package comment.
func Sync(string) error { return nil }

// Free returns the number of bytes that can still be written on a folder's volume.
func Free(dir string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	}
	return free, err
}
