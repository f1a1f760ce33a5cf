// Command paperlab makes the tables and figures that compare Caucus with the
// papers it builds on and with the strongest rivals, on real data:
//
//	paperlab list
//	paperlab run NAME... [--quick] [--draws N] [--seed S] --data-dir DIR --out DIR
//	paperlab samples SET [--read FILE] --data-dir DIR --out DIR
//
// An experiment is a row of the table in registry.go: it names independent
// tasks, each of which measures something for one draw of the data, and says
// how all measurements become a page. run executes the tasks in parallel and
// writes, below DIR/NAME:
//
//	parts/KEY.csv   what each task measured; a later run takes up what is there
//	results.csv     all of it, one line a measurement and draw
//	*.svg           figures, with bands of ± 1 standard deviation over draws
//	README.md       the page: command, seeds, splits, data digests, tables
//
// Comparators that no product needs (noise that no proof covers, rivals) live
// here and nowhere else. Everything is simulated: nothing here protects anyone.
package main
