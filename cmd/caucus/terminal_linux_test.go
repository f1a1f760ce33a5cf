package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a new terminal: text written to end can be read from screen.
func terminal(t *testing.T) (screen, end *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY,
		0); err != nil {
		t.Fatal(err)
	}
	return screen, end
}

// TestEndsOnTerminal: a command ends on a terminal whether its progress bar starts, does not start
// because nothing is counted, or does not start because of an error.
func TestEndsOnTerminal(t *testing.T) {
	release := filepath.Join(t.TempDir(), "release.json")
	for _, c := range []struct {
		line string
		bar  bool
		code int
	}{
		{"simulate describe --set generate=200 --parties 2", false, 0},
		{"simulate evaluate --set generate=400 --parties 2 --out " + release, false, 0},
		{"simulate classify --set generate=200 --parties 201", false, 1},
		{"simulate labels --set generate=400 --parties 2 --set train_rows=-3", false, 2},
		{"forecast --parties 100 --records 24 --unit party --draws 5", true, 0},
		{"forecast describe --parties 3", false, 0},
	} {
		screen, end := terminal(t)
		shown := make(chan string)
		go func() {
			var all bytes.Buffer
			all.ReadFrom(screen) // an error once the other end is closed
			shown <- all.String()
		}()
		code := make(chan int)
		go func() { code <- Main(context.Background(), strings.Fields(c.line), end, end) }()
		select {
		case have := <-code:
			end.Close()
			if text := <-shown; have != c.code || strings.Contains(text, "parties ") &&
				strings.Contains(text, "\x1b[") != c.bar || text == "" {
				t.Errorf("%s: ended with %d, want %d, and showed %q", c.line, have, c.code, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s does not end on a terminal", c.line)
		}
	}
}
