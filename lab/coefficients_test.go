package main

import "testing"

// TestShownCoefficients: the page counts what a release shows, by the rule as it is, and
// so nothing of a pool that was tilted or differs, nor of a slope that nobody knows.
func TestShownCoefficients(t *testing.T) {
	for name, of := range map[string]struct {
		slope          float64
		drift, tilted  bool
		releases, told int
	}{
		"as it should be": {.1, false, false, 1, 1},
		"tilted":          {.1, false, true, 0, 0},
		"another pool":    {.1, true, false, 0, 0},
		"no slope":        {.2, false, false, 0, 0},
	} {
		r := &results{}
		r.add("slope_sd", of.slope, "drift", of.drift, "tilted", of.tilted, "value", 1.0, "sd", .5,
			"again", .01, "seen", true, "kept", 1.0, "rows", 40, "map", 1.0, "columns", 1.1)
		if told, all := shownCoefficients(r); len(told) != of.told || all != of.releases {
			t.Errorf("%s: %d of %d, want %d of %d", name, len(told), all, of.told, of.releases)
		}
	}
}
