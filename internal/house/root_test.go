package house

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain runs all tests in the module's root, from which they name files.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
