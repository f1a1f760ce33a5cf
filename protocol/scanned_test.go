package protocol

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBase45: the examples of RFC 9285, and each file comes back.
func TestBase45(t *testing.T) {
	for text, want := range map[string]string{"AB": "BB8", "Hello!!": "%69 VD92EX0", "base-45": "UJCLQE7W581", "ietf!": "QED8WEX0"} {
		if got := encode45([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, bad := range []string{"GGW", ":::", "a", "A", "AB8A", "ZZ"} {
		if b, err := decode45(bad); err == nil {
			t.Errorf("%q is read as %x", bad, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if got, err := decode45(encode45(b)); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%x came back as %x, %v", b, got, err)
		}
	})
}

// TestScanned: a small carried file is read from its text as from itself; a large one, and
// a secret, is no text.
func TestScanned(t *testing.T) {
	e, err := NewEnrolment()
	if err != nil {
		t.Fatal(err)
	}
	file, _, err := e.RequestFile()
	if err != nil {
		t.Fatal(err)
	}
	text, err := Scannable(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scanned")
	for _, end := range []string{"", "\n", "\r\n"} {
		if err := os.WriteFile(path, []byte(text+end), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadCarried(path, nil, RequestFile); err != nil || !bytes.Equal(got, file) {
			t.Errorf("a file that ends in %q came back as %d bytes, %v", end, len(got), err)
		}
	}
	if _, err := ReadCarried("-", strings.NewReader(text[:len(text)-4]+"a"), RequestFile); !errors.Is(err, ErrDamaged) {
		t.Errorf("a text that was changed: %v", err)
	}
	for what, c := range map[string]struct {
		file []byte
		want error
	}{
		"an invitation": {[]byte(invitationPrefix + "abc"), ErrInvalid},
		"anything else": {[]byte("hello"), ErrInvalid},
		"a large file":  {append([]byte(AnswerFile.begins()), make([]byte, MaxScanned)...), ErrTooLarge},
	} {
		if _, err := Scannable(c.file); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}
