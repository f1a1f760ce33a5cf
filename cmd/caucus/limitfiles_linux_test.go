package main

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// growthIsAnError makes writing to a file that may not grow an error instead of a signal.
func growthIsAnError() { signal.Ignore(syscall.SIGXFSZ) }

// limitFiles limits the size to which a process can make files grow, in bytes.
func limitFiles(pid int, most uint64) {
	limit := syscall.Rlimit{Cur: most, Max: ^uint64(0)}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}
