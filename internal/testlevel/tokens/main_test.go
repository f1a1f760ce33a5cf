package main

import "testing"

// TestCount: neither comments nor the breaking of lines weigh anything.
func TestCount(t *testing.T) {
	for source, want := range map[string]int{
		"":                                       0,
		"package a // why\n":                     2,
		"/* all\nof it */ package a\n\n\n":       2,
		"package a\n\nvar b = f(1, \"x y\")":     11,
		"package a\nvar b = f(\n1,\n\"x y\",\n)": 12, // the last comma is one more
	} {
		if got := count([]byte(source)); got != want {
			t.Errorf("%q has %d tokens, want %d", source, got, want)
		}
	}
}
