package siteverbs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEdited: a configuration counts as edited once two looks find the same other bytes, and if it
// can be read. One that cannot be read, or is gone, is an error and changes nothing.
func TestEdited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.yaml")
	const first = "state: state\npoll: 1s\n"
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(first)
	looks := edited(path)
	for _, c := range []struct {
		text string // "" removes the file, "=" leaves it
		want bool
		fail bool
	}{
		{"=", false, false}, {first + "quiet: true\n", false, false}, {"=", true, false},
		{first, false, false}, {"=", false, false}, {first + "policy: {kinds", false, false},
		{"=", false, true}, {"=", false, true}, {first + "quiet: false\n", false, false},
		{first + "margin: 9\n", false, false}, {"=", true, false}, {"", false, true},
		{"=", false, true}, {first, false, false}, {"=", false, false},
	} {
		switch c.text {
		case "=":
		case "":
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		default:
			put(c.text)
		}
		if got, err := looks(); got != c.want || (err != nil) != c.fail {
			t.Errorf("after %q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}
