package dates_test

import (
	"fmt"

	"caucus/dataset/dates"
)

// A moment in the evening of UTC is of the next day in Berlin.
func Example() {
	berlin, err := dates.ZoneNamed("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	written, _ := dates.ISO.Parse("2024-12-30 23:30:00Z")
	there, _, _ := dates.ISO.ParseIn("2024-12-30 23:30:00Z", berlin)
	fmt.Println(written, there)
	// Output: 2024-12-30 2024-12-31
}
