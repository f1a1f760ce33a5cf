package console

import "testing"

// TestCounted checks singular and plural.
func TestCounted(t *testing.T) {
	for _, c := range []struct {
		n            int
		things, want string
	}{{1, "sites", "1 site"}, {2, "sites", "2 sites"}, {0, "parties", "0 parties"},
		{1, "parties", "1 party"}, {1, "classes", "1 class"}, {1, "entries", "1 entry"}} {
		if have := Counted(c.n, c.things); have != c.want {
			t.Errorf("%d %s: have %q, want %q", c.n, c.things, have, c.want)
		}
	}
}
