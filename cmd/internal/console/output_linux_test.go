package console

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestWriteInPlace: a file in a folder that takes no new file is overwritten, and keeps its content
// if the new content cannot be made. Here the file is the name of this process.
func TestWriteInPlace(t *testing.T) {
	const file = "/proc/self/comm"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &Console{}
	defer c.WriteText(file, before)
	broken := errors.New("no more")
	for _, said := range []error{nil, broken} {
		err := c.Write(file, func(w io.Writer) error {
			text := "written"
			if said != nil {
				text = "half"
			}
			_, err := io.WriteString(w, text)
			return errors.Join(said, err)
		})
		if !errors.Is(err, said) {
			t.Errorf("have %v, want %v", err, said)
		}
		if have, err := os.ReadFile(file); string(have) != "written\n" {
			t.Errorf("have %q, %v", have, err)
		}
	}
}

// TestWriteOpen: the name of an open file means this file, at its present position.
func TestWriteOpen(t *testing.T) {
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"} {
		var out bytes.Buffer
		c := &Console{Out: &out}
		if err := c.WriteText(name, []byte("here")); err != nil || out.String() != "here" {
			t.Errorf("%s: have %q, %v", name, out.String(), err)
		}
	}
}

// TestPlaceIsTried: an unwritable place is found before any work.
func TestPlaceIsTried(t *testing.T) {
	if err := checkPlace("/proc/new", false); err == nil ||
		!strings.Contains(err.Error(), "no file can be made in /proc: ") {
		t.Errorf("have %v", err)
	}
}
