// Package report is about a release as a page for people: one HTML file without scripts or links to
// elsewhere, which fits a phone, paper, a keyboard and a screen reader. The page shows first the
// result, then its uncertainty, its cost, and what is not protected. A kind says what its pages
// show (study.Report); this package names no kind.
//
// It draws numbers as dots with intervals (Dots), figures between two axes (study.ReportFigure) and
// lines against a budget (Chart).
package report
