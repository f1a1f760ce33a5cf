// Package weighed is about the result of a reweigh study: it fits the pool's weights to the
// released numbers, reads and explains a release, and answers queries by it. No party needs it;
// package reweigh is a party's half.
package weighed
