package console

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestStoppedFile: a verb that is stopped while it writes its answer ends, and leaves no file,
// complete or partial, even if its writer goes on for a while.
func TestStoppedFile(t *testing.T) {
	for _, name := range []string{"answer.csv", "answer.parquet"} {
		dir := t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		c := &Console{}
		cmd := &cobra.Command{}
		cmd.SetContext(ctx)
		ended, returned := make(chan error, 1), make(chan struct{})
		go func() {
			ended <- EndOnCancel(c, func(*cobra.Command, []string) error {
				defer close(returned)
				return c.Write(filepath.Join(dir, name), func(w io.Writer) error {
					if _, err := w.Write([]byte("row")); err != nil {
						return err
					}
					stop()
					return ctx.Err()
				})
			})(cmd, nil)
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it does not end", name)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
		// Release the writer: it waits for the end of the process, if the process did not end
		// before the stop.
		c.writing.TryLock()
		c.writing.Unlock()
		<-returned
	}
}
