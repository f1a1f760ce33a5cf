package dates

import (
	"fmt"
	"time"
	_ "time/tzdata"
)

// ZoneNamed returns a time zone by its name in the IANA database, such as Europe/Berlin or UTC.
func ZoneNamed(name string) (Zone, error) {
	place, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, fmt.Errorf("zone: %q is no time zone: write one such as Europe/Berlin, or "+
			"UTC", name)
	}
	return func(second int64) int64 {
		_, offset := time.Unix(second, 0).In(place).Zone()
		return int64(offset)
	}, nil
}
