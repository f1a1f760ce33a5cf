//go:build !linux

package testlevel

import "time"

var began = time.Now()

func ThreadTime() time.Duration { return time.Since(began) }
