package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWrite: a file is written completely or keeps its content, place and mode, also through a
// link, and no temporary file stays beside it.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.txt"), filepath.Join(dir, "link.txt")
	says := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	check := func(when, want string, mode os.FileMode) {
		t.Helper()
		have, err := os.ReadFile(file)
		if err != nil || string(have) != want {
			t.Fatalf("%s: have %q, %v; want %q", when, have, err, want)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Fatalf("%s: have %v, %v; want mode %v", when, info.Mode(), err, mode)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) > 2 {
			t.Fatalf("%s: the folder has %v, %v", when, files, err)
		}
	}
	c := &Console{}
	if err := c.Write(file, says("first")); err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	check("new", "first", made.Mode().Perm())
	if err := errors.Join(os.Chmod(file, 0o600), os.Symlink("a.txt", link)); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(link, says("second")); err != nil {
		t.Fatal(err)
	}
	check("through a link", "second", 0o600)
	broken := errors.New("no more")
	err = c.Write(file, func(w io.Writer) error { return errors.Join(says("half")(w), broken) })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), file) {
		t.Errorf("a write that fails: have %v", err)
	}
	check("after a write that failed", "second", 0o600)
	if err := c.Write(os.DevNull, says("gone")); err != nil {
		t.Errorf("a device: %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the device was replaced: %v, %v", info.Mode(), err)
	}

	group := os.FileMode(0o664) // a umask of 022 would remove a bit
	if err := errors.Join(os.Chmod(file, group), c.Write(file, says("for a group"))); err != nil {
		t.Fatal(err)
	}
	check("for a group", "for a group", group)
	gone := filepath.Join(dir, "gone", "a.txt")
	if err := c.Write(gone, says("no")); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("in no folder: %v", err)
	}

	c.AddInput(link)
	var usage UsageError
	if err := c.Write(file, says("third")); !errors.As(err, &usage) {
		t.Errorf("over what is read: have %v, want a usage error", err)
	}
	check("after it was refused", "for a group", group)
}

// TestStopWhileWriting: a command that is stopped before the end writes no file.
func TestStopWhileWriting(t *testing.T) {
	dir := t.TempDir()
	c, writing, done, left := &Console{}, make(chan bool), make(chan bool), make(chan error)
	go func() {
		left <- c.Write(filepath.Join(dir, "a.txt"), func(io.Writer) error {
			writing <- true
			<-done
			return nil
		})
	}()
	<-writing
	c.stop() // as endsAtOnce does
	close(done)
	select {
	case err := <-left:
		t.Errorf("it goes on: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	c.writing.Unlock()
	if err := <-left; err == nil {
		t.Error("it was written")
	}
}

// TestFolderNotesWhatIsRead: a command does not overwrite a file that it opened in a folder.
func TestFolderNotesWhatIsRead(t *testing.T) {
	dir := t.TempDir()
	read, other := filepath.Join(dir, "read.csv"), filepath.Join(dir, "other.csv")
	if err := errors.Join(os.WriteFile(read, nil, 0o600),
		os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := &Console{}
	file, err := c.InputFolder(dir).Open("read.csv")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := c.WriteText(read, nil); err == nil {
		t.Error("what was read was written over")
	}
	if err := c.WriteText(other, nil); err != nil {
		t.Error(err)
	}
}

// full is a writer without room.
type full struct{}

// TestPrintFails: a failed print is an error, even if no line checked for one.
func TestPrintFails(t *testing.T) {
	c := &Console{Out: full{}}
	text := func(w io.Writer) { fmt.Fprintln(w, "one"); fmt.Fprintln(w, "two") }
	if err := c.Print(nil, text); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("have %v", err)
	}
}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }
