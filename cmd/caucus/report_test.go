package main

import (
	"strings"
	"testing"
)

// TestInCell: what belongs together stays on a line, and nothing is longer than one.
func TestInCell(t *testing.T) {
	long := strings.Repeat("x", 70)
	for text, want := range map[string]string{
		"":                     "",
		"0.521 ± 0.077":        "0.521\u00a0±\u00a00.077",
		"sex: male, against":   "sex: male, against",
		long[:longWord] + " y": long[:longWord] + " y",
		"of " + long:           "of " + long[:32] + "\u200b" + long[:32] + "\u200b" + long[:6],
	} {
		if got := inCell(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
