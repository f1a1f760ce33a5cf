package aggregator_test

import (
	"fmt"
	"os"
	"path/filepath"

	"caucus/aggregator"
)

// Each server has a head file of its own, outside the backups of its store: a restore shows in it.
func ExampleInitHead() {
	dir, err := os.MkdirTemp("", "server")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	head := filepath.Join(dir, "head")
	fmt.Println("made:", aggregator.InitHead(head, nil) == nil)
	fmt.Println("made over another's:", aggregator.InitHead(head, nil) == nil)
	// Output:
	// made: true
	// made over another's: false
}
