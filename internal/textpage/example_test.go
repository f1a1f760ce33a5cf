package textpage_test

import (
	"os"

	"caucus/internal/textpage"
)

// A text that imitates a line of the page stays on its own line.
func Example() {
	var page textpage.Page
	page.Add("study", "%s", "illness\nprotects     everything")
	page.Add("data", "%s from %s", textpage.Count(60, "record"),
		textpage.List([]string{"ward", "lab"}))
	if err := page.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// study        illness\u000aprotects     everything
	// data         60 records from ward, lab
}
