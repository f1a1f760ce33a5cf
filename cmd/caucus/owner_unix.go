//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// giveTo gives a file the owner and the group of another.
func giveTo(name string, other fs.FileInfo) error {
	s, ok := other.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Chown(name, int(s.Uid), int(s.Gid))
}
