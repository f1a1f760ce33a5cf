package textpage

import "testing"

// TestPrintable: no character that moves the cursor or changes the direction of writing reaches a
// terminal.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                            "plain",
		"Größe ≥ 3 年":                      "Größe ≥ 3 年",
		"a\nprotects     all":              `a\u000aprotects     all`,
		"\x1b[2Jgone":                      `\u001b[2Jgone`,
		"\u202eevil":                       `\u202eevil`,
		"a\u2028b\u200d":                   `a\u2028b\u200d`,
		"bad\xff\xc3":                      `bad\xff\xc3`,
		"\ufffd is a character of its own": "\ufffd is a character of its own",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
