package main

import (
	"slices"
	"strings"
	"testing"
)

// TestLook: each rule finds what leaves it, and lets stand what the rule leaves apart.
func TestLook(t *testing.T) {
	wide := strings.Repeat("a", 101)
	for source, want := range map[string][]finding{
		"package a\n\n// " + wide + "\nvar b int\n":                                      {{0, 3}},
		"package a\n\nvar b = \"" + wide + "\"\n":                                        nil,
		"package a\n\nvar b = []any{\n\t{" + strings.Repeat("1, ", 40) + "1},\n}\n":      nil,
		"package a\n\nfunc B() {}\n\n// C does.\nfunc C() {}\n":                          {{1, 3}},
		"package a\n\ntype B int\n\n// All.\nconst (\n\tC = 1\n)\n":                      {{1, 3}},
		"package a\n\nconst (\n\tC = 1\n\tD = 2 // two\n)\n":                             {{1, 4}},
		"package a\n\ntype b int\n\nfunc (b b) C() {}\nfunc (s *b) d() {}\n":             {{2, 6}},
		"package a\n\nfunc b() (n int) { return 1 }\n":                                   {{3, 3}},
		"package a\n\nfunc b() (n int) { defer c(); return 1 }\n":                        nil,
		"package a\n\nfunc b() { if err == nil { _, err = c() }\n}\n":                    {{4, 3}},
		"package a\n\nfunc b() { if err == nil && d { err = c() }\n}\n":                  {{4, 3}},
		"package a\n\nfunc b() { if err == nil { return }\n; if err != nil { return } }": nil,
	} {
		got, err := look("a.go", []byte(source))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", source, got, err, want)
		}
	}
}
