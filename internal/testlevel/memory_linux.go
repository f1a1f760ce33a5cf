package testlevel

import "syscall"

// free returns the free bytes of a file system, 0 if there is none.
func free(dir string) uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}
