// Package conformance is about what every kind of study promises: its tests hold each kind and
// each mechanism to the bounds, the data independence, the refusals and the documents that
// the door, the daemons and readers rely on.
//
// It is for whoever adds a kind: hand plans of the kind to the table in plans_test.go; a kind or
// mechanism without a plan there fails. The functions that are exported make small plans,
// records and releases, for the tests of kinds in their own rooms; only tests import them.
package conformance
