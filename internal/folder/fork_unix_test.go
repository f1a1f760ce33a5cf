//go:build unix

package folder

import (
	"os/exec"
	"sync"
	"testing"
	"time"
)

// TestReleasedBesideForks: a released lock can be taken immediately, even while this process starts
// other processes.
func TestReleasedBesideForks(t *testing.T) {
	dir := t.TempDir()
	stop := time.Now().Add(500 * time.Millisecond)
	var forks sync.WaitGroup
	for range 4 {
		forks.Go(func() {
			for time.Now().Before(stop) {
				_ = exec.Command("true").Run()
			}
		})
	}
	for time.Now().Before(stop) {
		release, err := Lock(dir)
		if err != nil {
			t.Error(err)
			break
		}
		release()
	}
	forks.Wait()
}
