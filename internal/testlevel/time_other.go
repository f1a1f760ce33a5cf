//go:build !linux

package testlevel

import "time"

var began = time.Now()

// ThreadTime returns the time since the start of the process, because this system has no clock of a
// thread's processor time: the machine's load is in it.
func ThreadTime() time.Duration { return time.Since(began) }
