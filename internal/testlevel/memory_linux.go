package testlevel

import "syscall"

// free is the number of bytes that a file system has left, 0 if there is none.
func free(dir string) uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}
