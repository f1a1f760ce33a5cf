package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LockForDaemon locks the folder for a daemon. Its error names the program that may hold the
// folder, such as "another agent".
func LockForDaemon(dir, daemon string) (release func(), err error) {
	release, err = Lock(dir)
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("lock folder %s: %s runs on it: stop it first (%w)", dir, daemon, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	return release, nil
}

// DaemonFolder describes a daemon's folder to Make, which makes it whole or leaves it recognisable
// as unfinished.
type DaemonFolder struct {
	Dir    string
	Daemon string // for example "coordinator"
	// Config is the config file. It is written last, so a folder without it is unfinished.
	Config string
	// UnfinishedFiles are patterns of files that an unfinished Make may leave. The next Make
	// removes them.
	UnfinishedFiles []string
}

// Make makes the folder with mode 0700. It refuses a folder with a config file, and replaces an
// unfinished folder. fill makes all other files and returns the config file's text, which Make
// stores with write.
func (d DaemonFolder) Make(write func(path string, text []byte) error,
	fill func() ([]byte, error)) error {
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return err
	}
	config := filepath.Join(d.Dir, d.Config)
	if _, err := os.Stat(config); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is a %s already: give another folder, or run it", d.Daemon)
	}
	release, err := LockForDaemon(d.Dir, "another "+d.Daemon)
	if err != nil {
		return err
	}
	defer release()
	for _, pattern := range d.UnfinishedFiles {
		left, err := filepath.Glob(filepath.Join(d.Dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range left {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	text, err := fill()
	if err != nil {
		return err
	}
	return write(config, text)
}

// ResolvePath returns the path of a file that a config file names. A relative name is relative to
// dir; "" stays "".
func ResolvePath(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// DefaultPath returns the path given. If that is empty, it returns the folder's path with the
// ending appended.
func DefaultPath(dir, ending, given string) string {
	if given != "" {
		return given
	}
	if absolute, err := filepath.Abs(dir); err == nil { // so that "." has a name
		return absolute + ending
	}
	return filepath.Clean(dir) + ending
}

// ConfigPath returns how a config file in dir names a path: relative if it lies beside the folder,
// so that both can move.
func ConfigPath(dir, path string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err == nil && filepath.Dir(path) == filepath.Dir(dir) {
		path = filepath.Join("..", filepath.Base(path))
	}
	return path, err
}

// RefuseInside refuses a file inside a daemon's folder, because a restore of the folder would
// restore the file too. name is the file's name in the config file.
func RefuseInside(dir, name, daemon string) error {
	in, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(ResolvePath(dir, name))
	if err != nil {
		return err
	}
	if relative, err := filepath.Rel(in, path); err == nil && filepath.IsLocal(relative) {
		return fmt.Errorf("%s is in the %s's folder, and would be put back with it: name a file outside, such as ../%s", name, daemon, filepath.Base(path))
	}
	return nil
}
