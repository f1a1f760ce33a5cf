// Package conformance tests every kind of study: each kind and mechanism keeps the bounds, the data
// independence, the refusals and the documents that the ledger, the daemons and readers rely on.
//
// Whoever adds a kind adds plans of it to the table in plans_test.go; a kind or mechanism without a plan
// there fails. The exported functions make small plans, records and releases for the tests of kinds in
// their own rooms; only tests import them.
package conformance
