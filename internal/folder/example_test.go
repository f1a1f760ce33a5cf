package folder_test

import (
	"errors"
	"fmt"
	"os"

	"caucus/internal/folder"
)

func ExampleLock() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	release, err := folder.Lock(dir)
	fmt.Println(err)
	_, err = folder.Lock(dir)
	fmt.Println(errors.Is(err, folder.ErrHeld))
	release()
	// Output:
	// <nil>
	// true
}
