package testlevel

import "os"

// InMemory puts the temporary folders of a package's tests into memory, if a gigabyte is free there
// and TMPDIR is not set, because daemons' tests mostly wait for the disk. A package's TestMain
// calls it. Files of a killed process stay there as on a disk.
func InMemory() {
	if os.Getenv("TMPDIR") == "" && free(memory) >= 1<<30 {
		os.Setenv("TMPDIR", memory)
	}
}

const memory = "/dev/shm"
