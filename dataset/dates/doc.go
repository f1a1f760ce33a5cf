// Package dates reads days from texts as people write them: by a layout such as DD.MM.YYYY, with
// months by name, and with or without a time zone. It reads no clock. The database of zones is part
// of the program, because small machines have none.
//
//	day, ok := dates.Layout("DD.MM.YYYY").Parse("31.12.2024")
//
// Read date.go, then months.go and zone.go.
package dates
