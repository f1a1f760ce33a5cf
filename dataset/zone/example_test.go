package zone_test

import (
	"fmt"

	"caucus/dataset"
	"caucus/dataset/zone"
)

// A moment in the evening of UTC is of the next day in Berlin.
func Example() {
	berlin, err := zone.Named("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	written, _ := dataset.ISODate.Parse("2024-12-30 23:30:00Z")
	there, _ := dataset.ISODate.ParseIn("2024-12-30 23:30:00Z", berlin)
	fmt.Println(written, there)
	// Output: 2024-12-30 2024-12-31
}
