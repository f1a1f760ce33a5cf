package dates

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNamed: a moment with a zone of its own is of one day in a zone, however the moment is
// written, by the standard library's own calendar.
func TestNamed(t *testing.T) {
	names := []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC",
		"Pacific/Auckland"}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-3e9, 3e9).Draw(t, "second"), 0).UTC()
		name := rapid.SampledFrom(names).Draw(t, "zone")
		place, err := ZoneNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		std, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		written := at.In(time.FixedZone("", 900*rapid.IntRange(-56, 56).Draw(t, "offset")))
		for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05.00-0700",
			"2006-01-02 15:04:05 -07:00"} {
			text := written.Format(layout)
			day, ok := ISO.ParseIn(text, place)
			if want := at.In(std).Format(time.DateOnly); !ok || day.String() != want ||
				!HasZone(text) {
				t.Fatalf("%s in %s is %v, %v, want %s", text, name, day, ok, want)
			}
			if day, ok := ISO.Parse(text); !ok ||
				day.String() != written.Format(time.DateOnly) {
				t.Fatalf("%s without a zone is %v", text, day)
			}
		}
	})
	auckland, err := ZoneNamed("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"2024-12-31", "2024-12-31 08:30", "2024-12-31T08:30:00.5",
		"22-OCT-1999 Z", "2024-12-31 +01"} {
		if d, ok := ISO.ParseIn(text, auckland); HasZone(text) || ok &&
			d.String() != "2024-12-31" {
			t.Errorf("%s has a zone: %v", text, d)
		}
	}
	for _, bad := range []string{"", "Local", "Berlin", "+02:00", "../zone",
		"'; DROP TABLE people"} {
		if _, err := ZoneNamed(bad); err == nil || !strings.Contains(err.Error(),
			"write one such as Europe/Berlin") {
			t.Errorf("the zone %q: %v", bad, err)
		}
	}
}
