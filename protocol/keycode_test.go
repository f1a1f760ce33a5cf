package protocol

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestKeyCode: a code has five groups of four letters that nobody mistakes, and follows from every
// byte of each key, from their order and from where each ends.
func TestKeyCode(t *testing.T) {
	form := regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "a"), rapid.SliceOfN(rapid.Byte(), 32,
			32).Draw(t, "b")
		code := KeyCode(a, b)
		if !form.MatchString(code) || KeyCode(a, b) != code {
			t.Fatalf("code %s", code)
		}
		i := rapid.IntRange(0, 31).Draw(t, "i")
		[][]byte{a, b}[rapid.IntRange(0, 1).Draw(t, "key")][i] ^= 1
		if KeyCode(a, b) == code || KeyCode(append(a, b...)) == KeyCode(a, b) ||
			string(a) != string(b) && KeyCode(a, b) == KeyCode(b, a) {
			t.Fatal("two sets of keys have one code")
		}
	})
	if got := KeyCode([]byte{1}); got != "" && KeyCode() == got {
		t.Error("no key has the code of one")
	}
}

// TestReadKeyCode: a code is read as people type it. An error always tells of one wrong letter, and
// of two neighbours in the wrong order. A text that is longer, shorter or has other signs than a
// code is said to be no code.
func TestReadKeyCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := KeyCode(rapid.SliceOf(rapid.Byte()).Draw(t, "key"))
		typed := code
		if rapid.Bool().Draw(t, "lower") {
			typed = strings.ToLower(code)
		}
		as := strings.NewReplacer(
			"-", rapid.SampledFrom([]string{"-", " ", ""}).Draw(t, "sign"),
			"0", rapid.SampledFrom([]string{"0", "o", "O"}).Draw(t, "zero"),
			"1", rapid.SampledFrom([]string{"1", "l", "I"}).Draw(t, "one"))
		typed = as.Replace(typed)
		read, is, err := ReadKeyCode(typed)
		if read != code || !is || err != nil {
			t.Fatalf("%s, typed as %q, is read as %q, %v, %v", code, typed, read, is, err)
		}
		letters := []byte(strings.ReplaceAll(code, "-", ""))
		i := rapid.IntRange(0, len(letters)-1).Draw(t, "at")
		wrong := slices.Clone(letters)
		wrong[i] = rapid.SampledFrom([]byte(codeLetters)).Draw(t, "letter")
		_, is, err = ReadKeyCode(string(wrong))
		if !is || (err == nil) != slices.Equal(wrong, letters) {
			t.Fatalf("%s, typed as %s: %v, %v", letters, wrong, is, err)
		}
		wrong = slices.Clone(letters)
		j := min(i+1, len(letters)-1)
		wrong[i], wrong[j] = wrong[j], wrong[i]
		_, is, err = ReadKeyCode(string(wrong))
		if !is || (err == nil) != slices.Equal(wrong, letters) {
			t.Fatalf("%s, typed as %s: %v, %v", letters, wrong, is, err)
		}
	})
	for _, text := range []string{
		"", "7K3M-Q0XD", strings.Repeat("ab", 32), "helper.json", "7K3M-Q0XD-29TB-HHRN-5CWU",
	} {
		if _, is, err := ReadKeyCode(text); is || err != nil {
			t.Errorf("%q: %v, %v", text, is, err)
		}
	}
}
