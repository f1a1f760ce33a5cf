package testlevel

import "os"

// InMemory puts the temporary folders of a package's tests into memory, where the
// machine has a gigabyte of it and TMPDIR names no other place: a test of a daemon waits
// for its disk most of the time otherwise. A package's TestMain calls it. What a process
// wrote before it was killed is in those folders as on a disk.
func InMemory() {
	if os.Getenv("TMPDIR") == "" && free(memory) >= 1<<30 {
		os.Setenv("TMPDIR", memory)
	}
}

// memory is where Linux has a file system in memory.
const memory = "/dev/shm"
