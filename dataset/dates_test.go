package dataset

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDatesAgree compares with the standard library, both ways.
func TestDatesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y, m, d := rapid.IntRange(1, 9999).Draw(t, "year"), rapid.IntRange(1, 12).Draw(t, "month"), rapid.IntRange(1, 31).Draw(t, "day")
		want := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
		got, ok := DateOf(y, m, d)
		if ok != (want.Day() == d) {
			t.Fatalf("%d-%d-%d is a day: %v", y, m, d, ok)
		}
		if !ok {
			return
		}
		if unix := want.Unix() / 86400; want.Unix() != int64(got)*86400 {
			t.Fatalf("%v is day %d, want %d", want, got, unix)
		}
		if got.String() != want.Format(time.DateOnly) {
			t.Fatalf("%v is written %s", want, got)
		}
		if back, ok := ISODate.Parse(got.String()); !ok || back != got {
			t.Fatalf("%s is read as %v, %v", got, back, ok)
		}
	})
}

func TestDateLayouts(t *testing.T) {
	for _, c := range []struct{ layout, text, want string }{
		{"YYYY-MM-DD", "1950-03-12", "1950-03-12"},
		{"YYYY-MM-DD", " 1950-03-12T08:30:00Z ", "1950-03-12"},
		{"YYYY-MM-DD", "1950-3-1 00:00", "1950-03-01"},
		{"YYYY-MM-DD", "50-03-12", ""},
		{"YYYY-MM-DD", "1950-03-123", ""},
		{"YYYY-MM-DD", "1950-03", ""},
		{"YYYY-MM-DD", "1950-02-29", ""},
		{"YYYY-MM-DD", "1952-02-29", "1952-02-29"},
		{"YYYY-MM-DD", "", ""},
		{"YYYYMMDD", "19500312", "1950-03-12"},
		{"DD.MM.YYYY", "12.03.1950", "1950-03-12"},
		{"DD.MM.YYYY", "12/03/1950", ""},
		{"D.M.YY", "1.2.29", "2029-02-01"},
		{"D.M.YY", "1.2.30", "1930-02-01"},
		{"M/D/YYYY", "3/12/1950", "1950-03-12"},
		{"M/D/YYYY", "13/12/1950", ""},
		{"YYYY-MM-DD", "0000-01-01", ""},
		{"YYYY-MM-DD", "١٩٥٠-٠٣-١٢", ""},
	} {
		if err := DateLayout(c.layout).Validate(); err != nil {
			t.Fatal(err)
		}
		got, ok := DateLayout(c.layout).Parse(c.text)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s reads %q as %v, %v, want %q", c.layout, c.text, got, ok, c.want)
		}
	}
	for _, bad := range []DateLayout{"", "DD.MM", "YYYY-MM-DD-DD", "YYY-MM-DD", "%Y-%m-%d", "2006-01-02", "YMYMDD"} {
		if bad.Validate() == nil {
			t.Errorf("layout %q is taken", bad)
		}
	}
}

func TestYearsUntil(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     int
	}{
		{"1950-03-12", "2024-03-11", 73}, {"1950-03-12", "2024-03-12", 74},
		{"1952-02-29", "1953-02-28", 0}, {"1952-02-29", "1953-03-01", 1}, {"1952-02-29", "1956-02-29", 4},
		{"2000-01-01", "2000-01-01", 0}, {"2001-06-01", "2000-06-01", -1}, {"2001-06-01", "2000-05-31", -2},
	} {
		from, _ := ISODate.Parse(c.from)
		to, _ := ISODate.Parse(c.to)
		if got := from.YearsUntil(to); got != c.want {
			t.Errorf("from %s to %s are %d years, want %d", c.from, c.to, got, c.want)
		}
	}
}
