package testlevel

import (
	"syscall"
	"time"
	"unsafe"
)

// ThreadTime returns the processor time of the calling thread, whatever else the machine does. Call
// runtime.LockOSThread first. Other systems return the time since the start of the process.
func ThreadTime() time.Duration {
	const clock = 3 // CLOCK_THREAD_CPUTIME_ID
	var at syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&at)),
		0); e != 0 {
		panic(e)
	}
	return time.Duration(at.Nano())
}
