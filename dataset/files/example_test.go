package files_test

import (
	"fmt"
	"io"
	"strings"

	"caucus/dataset/files"
)

// The kind of a file follows from its bytes; the site states how its text is written.
func Example() {
	in := strings.NewReader("Name;Gr\xf6\xdfe\nM\xfcller;1,80\n") // Latin-1
	written := files.Written{Delimiter: ";", Encoding: "latin1"}
	form, err := files.Detect(in, in.Size(), written)
	if err != nil {
		panic(err)
	}
	fmt.Println(form)
	rows, err := files.OpenStrict(in, in.Size(), form, written)
	if err != nil {
		panic(err)
	}
	fmt.Println(rows.Columns())
	for {
		row, ok, err := rows.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(row, ok)
	}
	// Output:
	// text, latin1
	// [Name Größe]
	// [Müller 1,80] true
}
