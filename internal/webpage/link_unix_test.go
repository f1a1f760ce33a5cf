//go:build unix

package webpage

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPlantedLinks: a link's file is ignored if others may read or write it, if it belongs to
// another account, or if it is no regular file. It opens nothing and blocks nothing.
func TestPlantedLinks(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"readable": func(path string) error { return os.Chmod(path, 0o644) },
		"writable": func(path string) error { return os.Chmod(path, 0o620) },
		"a symbolic link": func(path string) error {
			return os.Rename(path, path+".old") // and below
		},
		"a pipe": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		},
		"another's": func(path string) error {
			if os.Geteuid() != 0 { // only root can give a file away
				return os.Chmod(path, 0o604)
			}
			return os.Chown(path, 65534, 65534)
		},
	} {
		d := newDoor(t)
		link := d.link()
		path := filepath.Join(d.dir, linkFile)
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "symbolic") {
			if err := os.Symlink(path+".old", path); err != nil {
				t.Fatal(err)
			}
		}
		if _, cookies, code := d.enter(link); code != http.StatusForbidden || len(cookies) > 0 {
			t.Errorf("%s opens: %d", name, code)
		}
	}
}
