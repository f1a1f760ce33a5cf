package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockState makes sure that one agent runs on a state folder. The lock ends
// with the process, whatever ends it.
func lockState(dir string) (release func(), err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock state folder %s: another agent runs on it: stop it first (%w)", dir, err)
	}
	return func() { f.Close() }, nil
}
