//go:build !linux

package main

// growthIsAnError does nothing where nothing is limited.
func growthIsAnError() {}

// limitFiles does nothing where one process cannot limit another.
func limitFiles(int, uint64) {}
