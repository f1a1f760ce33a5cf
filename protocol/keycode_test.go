package protocol

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestKeyCode: a code has five groups of four letters that nobody mistakes, and follows from every
// byte of each key, from their order and from where each ends.
func TestKeyCode(t *testing.T) {
	form := regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "a"), rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "b")
		code := KeyCode(a, b)
		if !form.MatchString(code) || KeyCode(a, b) != code {
			t.Fatalf("code %s", code)
		}
		i := rapid.IntRange(0, 31).Draw(t, "i")
		[][]byte{a, b}[rapid.IntRange(0, 1).Draw(t, "key")][i] ^= 1
		if KeyCode(a, b) == code || KeyCode(append(a, b...)) == KeyCode(a, b) || string(a) != string(b) && KeyCode(a, b) == KeyCode(b, a) {
			t.Fatal("two sets of keys have one code")
		}
	})
	if got := KeyCode([]byte{1}); got != "" && KeyCode() == got {
		t.Error("no key has the code of one")
	}
}
