package csvfile_test

import (
	"fmt"
	"os"

	"caucus/internal/csvfile"
)

// A note that a spreadsheet would compute becomes a text.
func ExampleMarked() {
	out := csvfile.Marked(os.Stdout)
	for _, row := range [][]string{{"id", "note"}, {"1", "=1+1"}, {"-2.5", "a-b"}} {
		if err := out.Write(row); err != nil {
			panic(err)
		}
	}
	if err := out.Close(); err != nil {
		panic(err)
	}
	fmt.Println(out.Marked)
	// Output:
	// id,note
	// 1,'=1+1
	// -2.5,a-b
	// 1
}
