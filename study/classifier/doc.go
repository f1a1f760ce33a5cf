// Package classifier is about the linear classifier in a release: its document, and its predictions
// on a table with the plan's schema and map. Kinds that end in a classifier use it, and whoever
// uses such a release.
package classifier
