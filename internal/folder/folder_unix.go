//go:build unix

package folder

import (
	"errors"
	"os"
	"syscall"
)

// errBusy is what lockFile returns where another process holds the lock.
const errBusy = syscall.EWOULDBLOCK

func lockFile(f *os.File, shared bool) error {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
}

// unlockFile ends the lock at once. A close alone would not: a child forked meanwhile holds the lock until it
// executes its program.
func unlockFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// Sync makes a folder's list of files durable.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Free returns the number of bytes that can still be written on a folder's volume.
func Free(dir string) (uint64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return uint64(s.Bavail) * uint64(s.Bsize), err
}
