package report_test

import (
	"fmt"

	"caucus/analyst/report"
	"caucus/study"
)

// A kind's chart becomes rows of numbers, each with a dot on one axis.
func Example() {
	dots := report.NewDots(&study.ReportChart{
		Title: "class shares", Percent: true,
		Bars: []study.ReportBar{study.Bar("ill", .31, .02), study.Bar("well", .69, .02)},
	})
	for _, row := range dots.Rows {
		fmt.Println(row.Name, row.Value)
	}
	fmt.Println("axis from", dots.From, "to", dots.To)
	// Output:
	// ill 31.0 % ± 2.0 %
	// well 69.0 % ± 2.0 %
	// axis from 20.0 % to 80.0 %
}
