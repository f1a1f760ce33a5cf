// Package classifier is about the linear classifier that a release holds: its
// document and its predictions on a table with the plan's schema and
// map. It is for the kinds that end in one, and for those who use a release.
package classifier
