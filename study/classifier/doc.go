// Package classifier holds the linear classifier of a release: its JSON form, what it says in words, and
// its predictions on a table with the plan's schema and map. It serves the study kinds that release a
// classifier, and the users of their releases.
package classifier
