//go:build !linux

package main

// growthIsAnError does nothing here, because limitFiles does nothing.
func growthIsAnError() {}

// limitFiles does nothing on systems where a process cannot limit another.
func limitFiles(int, uint64) {}
