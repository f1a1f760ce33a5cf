//go:build unix

package folder

import (
	"errors"
	"io/fs"
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

// unlockFile ends the lock at once. A close alone would not: a child forked meanwhile holds the
// lock until it executes its program.
func unlockFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// mine reports whether a file belongs to this process's account, or to root.
func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || s.Uid == 0 || int(s.Uid) == os.Geteuid()
}

// shared reports whether other accounts have one of the rights in bits.
func shared(info fs.FileInfo, bits fs.FileMode) bool { return info.Mode().Perm()&bits != 0 }

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
