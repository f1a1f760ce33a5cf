// Package conformance is about tests that every kind of study and mechanism must pass, because
// ledger, daemons and readers rely on these properties: bounds hold, nothing public depends on
// records, bad plans and bodies are refused, and documents can be read again.
//
// plans_test.go has a table of plans. A kind or mechanism without a plan there fails. The exported
// functions make small plans, records and releases for tests of the kinds. Only tests import them.
package conformance
