package coordinator

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder makes sure that one coordinator runs on a folder. The lock ends
// with the process, whatever ends it.
func lockFolder(dir string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock folder %s: another coordinator runs on it: stop it first (%w)", dir, err)
	}
	return func() { f.Close() }, nil
}
