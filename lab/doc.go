// Command lab makes the tables and figures that compare Caucus with the papers it builds on and
// with the strongest rivals, on real data:
//
//	go run -C lab . list
//	go run -C lab . run NAME... [--quick] [--draws N] [--seed S] --data-dir DIR --out DIR
//	go run -C lab . samples SET [--read FILE] --data-dir DIR --out DIR
//
// It is a module of its own, so that what it draws figures with is no part of the product. Paths
// that are not absolute are those below lab.
//
// An experiment is a row of the table in registry.go: it names independent tasks, each of which
// measures something for one draw of the data, and says how all measurements become a page. run
// executes the tasks in parallel and writes, below DIR/NAME:
//
//	parts/KEY.csv   what each task measured; a later run takes up what is there
//	results.csv     all of it, one line a measurement and draw
//	*.svg           figures, with bands of ± 1 standard deviation over draws
//	README.md       the page: command, seeds, splits, data digests, tables
//
// Comparators that no product needs (noise that no proof covers, rivals) live here and nowhere
// else. Everything is simulated: nothing here protects anyone.
package main
