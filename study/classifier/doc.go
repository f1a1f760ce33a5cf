// Package classifier is about the linear classifier of a release: its JSON form, its description in
// words, and its predictions for records. It serves the kinds of study that release a classifier,
// and all code that uses their releases.
package classifier
