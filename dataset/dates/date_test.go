package dates

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDatesAgree compares with the standard library, both ways.
func TestDatesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y, m, d := rapid.IntRange(1, 9999).Draw(t, "year"), rapid.IntRange(1, 12).Draw(t,
			"month"), rapid.IntRange(1, 31).Draw(t, "day")
		want := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
		got, ok := NewDate(y, m, d)
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
		if back, ok := ISO.Parse(got.String()); !ok || back != got {
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
		{"YYYY-MM", "1950-03", "1950-03-01"},
		{"YYYY-MM", "1950-03-12", ""},
		{"MM/YYYY", "3/1950", "1950-03-01"},
		{"DD-MON-YYYY", "22-FEB-1999", "1999-02-22"},
		{"DD-MON-YYYY", "30-FEB-1999", ""},
		{"DDMONYYYY", "05MAR1950", "1950-03-05"},
		{"DDMONYYYY:", "05MAR1950:08:30:00", ""},
		{"DDMONYYYY", "05MAR1950:08:30:00", "1950-03-05"},
		{"DDMONYYYY", "05MAR1950:00:00:00.000", "1950-03-05"},
		{"DDMONYYYY", "05MAR1950:8", ""},
		{"DD.MM.YYYY", "05.03.1950:17", ""},
		{"D. MON YYYY", "3. März 1950", "1950-03-03"},
		{"D. MON YYYY", "3. Ma\u0308rz 1950", "1950-03-03"},
		{"D MON YYYY", "3 févr. 1950 08:30", "1950-02-03"},
		{"D MON YYYY", "3 jui 1950", ""},
		{"MON D, YYYY", "October 3, 1950", "1950-10-03"},
		{"DD-MON-YYYY", "22-XYZ-1999", ""},
		{"YYYY-MM-DD", "١٩٥٠-٠٣-١٢", ""},
	} {
		if err := Layout(c.layout).Validate(); err != nil {
			t.Fatal(err)
		}
		got, ok := Layout(c.layout).Parse(c.text)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s reads %q as %v, %v, want %q", c.layout, c.text, got, ok, c.want)
		}
	}
	for _, bad := range []Layout{
		"DD-MONTH-YYYY", "dd.mm.yyyy", "DD.MM.YYYY hh:mm", "YYYY-MM-DDTHH", "%d.%m.%Y", "DD.YYYY",
		"YYYY", "DD-MMM-YYYY", "1.MM.YYYY", "", "DD.MM", "YYYY-MM-DD-DD", "YYY-MM-DD", "%Y-%m-%d", "2006-01-02", "YMYMDD",
	} {
		if bad.Validate() == nil {
			t.Errorf("layout %q is taken", bad)
		}
	}
}

// TestMonthNames: names and their beginnings in each language are one month, and texts of two
// months none.
func TestMonthNames(t *testing.T) {
	for text, want := range map[string]int{
		"january": 1, "Jän": 1, "janvier": 1, "ENE": 1, "gen": 1, "Febr": 2, "fév": 2, "MÄR": 3, "mrz": 3, "mrt": 3, "maart": 3, "Março": 3, "avr": 4,
		"mai": 5, "mei": 5, "mag": 5, "juin": 6, "giu": 6, "juil": 7, "lug": 7, "août": 8, "ago": 8, "sept": 9, "set": 9, "Okt": 10, "out": 10, "nov": 11,
		"Dez": 12, "déc": 12, "dic": 12, "jui": 0, "ma": 0, "": 0, "marsh": 0, "mars5": 0, "decembers": 0,
	} {
		if got := monthNamed(text); got != want {
			t.Errorf("%q is month %d, want %d", text, got, want)
		}
	}
	for i, names := range monthNames {
		for _, name := range names {
			if got := monthNamed(name); got != i+1 {
				t.Errorf("%s is month %d, want %d", name, got, i+1)
			}
		}
	}
}

// TestInCentury: two digits of a year mean one of a hundred years.
func TestInCentury(t *testing.T) {
	for _, c := range []struct {
		date  string
		first int
		want  string
	}{
		{"2029-03-12", 1925, "1929-03-12"}, {"1924-03-12", 1925, "2024-03-12"},
		{"1925-03-12", 1925, "1925-03-12"},
		{"1950-03-12", 1925, "1950-03-12"}, {"2000-02-29", 1850, ""},
	} {
		d, _ := ISO.Parse(c.date)
		if got, ok := d.InCentury(c.first); ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s from %d on is %v, %v, want %q", c.date, c.first, got, ok, c.want)
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
		from, _ := ISO.Parse(c.from)
		to, _ := ISO.Parse(c.to)
		if got := from.YearsUntil(to); got != c.want {
			t.Errorf("from %s to %s are %d years, want %d", c.from, c.to, got, c.want)
		}
	}
}
