// Package classifier is about the linear classifier of a release: its JSON form, the meaning of its
// numbers, and its predictions for records. It serves all code that reads a release with a
// classifier; package fitted makes and explains one.
package classifier
