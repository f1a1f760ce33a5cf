// Package described is about the tables of a describe study: it makes them from released counts,
// with intervals, and describes them. No party needs it; package describe is a party's half.
package described
