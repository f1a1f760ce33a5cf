// Package classifier is about the linear classifier in a release: its document, and its predictions on a
// table with the plan's schema and map, for kinds that end in a classifier and users of such releases.
package classifier
