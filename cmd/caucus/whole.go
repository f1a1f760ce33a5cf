package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// newFileMode is that of a new file, before the person's umask.
const newFileMode = 0o644

// writeWhole writes a temporary file beside the one that is named, to the disk, and puts
// it in its place, with owner and mode of the file that was there. Where no file can be
// made or moved there, it writes over what was there, once all of it is known. A device,
// a pipe and an open file have no place to take, and are written to.
func (c *console) writeWhole(name string, write func(io.Writer) error) error {
	at, err := place(name)
	if err != nil {
		return err
	}
	if n, ok := openNumber(at); ok {
		return c.writeOpen(n, write)
	}
	old, err := os.OpenFile(at, os.O_WRONLY, 0) // as it stands: it may be one that nobody may write
	if errors.Is(err, fs.ErrNotExist) {
		return c.replace(at, nil, write)
	}
	if err != nil {
		return cause(err)
	}
	info, err := old.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return errors.Join(write(old), old.Close())
	}
	if err = errors.Join(err, old.Close()); err != nil {
		return err
	}
	return c.replace(at, info, write)
}

// replace puts a file in a place; old is what is there, nil for nothing.
func (c *console) replace(at string, old fs.FileInfo, write func(io.Writer) error) error {
	mode := fs.FileMode(newFileMode)
	if old != nil {
		mode = 0o600 // until it is as the old one
	}
	file, err := c.unfinished.make(filepath.Dir(at), mode)
	if err != nil && old != nil { // the folder takes no file
		var all bytes.Buffer
		if err := write(&all); err != nil {
			return err
		}
		return writeOver(at, &all)
	}
	if err != nil {
		return cause(err)
	}
	beside := file.Name()
	defer c.unfinished.remove(beside)
	if err = write(unnamed{file}); err == nil {
		err = toDisk(file)
	}
	if err = errors.Join(err, cause(file.Close())); err != nil {
		return err
	}
	if old != nil {
		err = errors.Join(giveTo(beside, old), os.Chmod(beside, old.Mode().Perm())) // a new owner clears mode bits
	}
	if err == nil {
		err = os.Rename(beside, at)
	}
	if err == nil || old == nil {
		return cause(err)
	}
	whole, err := os.Open(beside) // it cannot take the place: that is mounted, or another's
	if err != nil {
		return cause(err)
	}
	defer whole.Close()
	return writeOver(at, whole)
}

// writeOver writes over a file that is there.
func writeOver(at string, from io.Reader) error {
	file, err := os.OpenFile(at, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return cause(err)
	}
	_, err = io.Copy(unnamed{file}, from)
	return errors.Join(err, toDisk(file), cause(file.Close()))
}

// toDisk has a file written to the disk, where it is on one.
func toDisk(file *os.File) error {
	if err := file.Sync(); !errors.Is(err, syscall.EINVAL) { // EINVAL: it cannot be asked
		return cause(err)
	}
	return nil
}

// writeOpen writes to an open file.
func (c *console) writeOpen(number int, write func(io.Writer) error) error {
	switch number {
	case 1:
		return write(c.out)
	case 2:
		return write(c.err)
	}
	file := os.NewFile(uintptr(number), "an open file")
	return errors.Join(write(file), file.Close())
}

// openNumber is the number of the open file that a name means, as shells give it.
func openNumber(name string) (int, bool) {
	name = filepath.ToSlash(filepath.Clean(name))
	switch name {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if rest, ok := strings.CutPrefix(name, folder); ok {
			n, err := strconv.Atoi(rest)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// unfinished are the temporary files of a command. Its zero value is ready.
type unfinished struct {
	mu    sync.Mutex // owns names
	names map[string]bool
}

// make makes one in a folder. Its name is short, since that of what it becomes may be as
// long as a name can be.
func (u *unfinished) make(folder string, mode fs.FileMode) (*os.File, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	file, err := os.OpenFile(filepath.Join(folder, temporaryPrefix+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[file.Name()] = true
	return file, nil
}

const temporaryPrefix = ".caucus-"

// remove removes one; it may have taken its place.
func (u *unfinished) remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	os.Remove(name)
	delete(u.names, name)
}

// stop removes all, and keeps the lock: whoever would make another waits for the end of
// the process.
func (u *unfinished) stop() {
	u.mu.Lock()
	for name := range u.names {
		os.Remove(name)
	}
}

// unnamed writes to a file, and leaves its name out of errors: it is a temporary one.
type unnamed struct{ file *os.File }

func (u unnamed) Write(b []byte) (int, error) {
	n, err := u.file.Write(b)
	return n, cause(err)
}

// cause is what went wrong, without the name of a file.
func cause(err error) error {
	var file *fs.PathError
	var move *os.LinkError
	switch {
	case errors.As(err, &file):
		return file.Err
	case errors.As(err, &move):
		return move.Err
	}
	return err
}
