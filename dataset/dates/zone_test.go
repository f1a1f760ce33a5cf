package dates

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNamed: a moment with its own zone falls on the right day in a named zone, however the moment
// is written, by the standard library's calendar.
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
		for format, layout := range map[string]Layout{
			time.RFC3339: ISO, "2006-01-02t15:04:05-07:00": ISO,
			"2006-01-02 15:04:05.00-0700": ISO, "2006-01-02 15:04:05 -07:00": ISO,
			"2006-01-02 15:04:05 GMT-0700":       ISO,
			"01/02/2006 03:04:05 PM -0700":       "MM/DD/YYYY",
			"1/2/2006, 3:04:05 pm UTC-07:00":     "M/D/YYYY",
			"02-Jan-2006 03.04.05.000 PM -07:00": "DD-MON-YYYY",
			"02Jan2006:15:04:05.00 -0700":        "DDMONYYYY",
			"20060102150405-0700":                "YYYYMMDD",
			"20060102T150405-0700":               "YYYYMMDD",
		} {
			text := written.Format(format)
			day, zoned, ok := layout.ParseIn(text, place)
			if want := at.In(std).Format(time.DateOnly); !ok || day.String() != want || !zoned {
				t.Fatalf("%s in %s is %v, %v, want %s", text, name, day, ok, want)
			}
			for _, utc := range []string{" UTC", " GMT", "Z", "z", "+00", " +0000"} {
				text := at.Format(time.DateTime) + utc
				day, zoned, ok := ISO.ParseIn(text, place)
				if want := at.In(std).Format(time.DateOnly); !ok || day.String() != want ||
					!zoned {
					t.Fatalf("%s in %s is %v, %v, want %s", text, name, day, ok, want)
				}
			}
			if day, ok := layout.Parse(text); !ok ||
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
		"2024-12-31 08:30 PM", "2024-12-31 23.30 Uhr", "2024-12-31:23:30"} {
		if d, zoned, ok := ISO.ParseIn(text, auckland); zoned || !ok ||
			d.String() != "2024-12-31" {
			t.Errorf("%s has a zone: %v", text, d)
		}
	}
	for _, text := range []string{"2024-12-31 +01", "2024-12-31 Z", "2024-12-31 08:30 EST",
		"2024-12-31 08:30 CET", "2024-12-31 13:30 PM", "2024-12-31 00:30 AM", "2024-12-31 25:00",
		"2024-12-31 08:60", "2024-12-31 24:60:00", "2024-12-31 +8:30:00",
		"2024-12-31 08:30:00 +1:2", "2024-12-31 08:30 Europe/Berlin",
		"2024-12-31 about", "2024-12-31T", "2024-12-310830", "2024-12-31 08:30 UTC Z"} {
		if d, ok := ISO.Parse(text); ok {
			t.Errorf("%s is read as %v, although its end is not understood", text, d)
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
