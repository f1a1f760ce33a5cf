package testlevel

import "os"

// InMemory puts the temporary folders of a package's tests into memory, if the machine has a
// gigabyte free there and TMPDIR is not set: otherwise a daemon's test mostly waits for the disk. A
// package's TestMain calls it. Files that a killed process wrote are in those folders as on a disk.
func InMemory() {
	if os.Getenv("TMPDIR") == "" && free(memory) >= 1<<30 {
		os.Setenv("TMPDIR", memory)
	}
}

// memory is Linux's file system in memory.
const memory = "/dev/shm"
