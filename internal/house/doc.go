// Package house is about what holds for all rooms of the module: who may import whom, that each is
// documented, that pages name what exists, that every claim of the threat model has its tests, and
// that planted mistakes are found.
//
// It has tests alone, which run in the module's root. Lists of theirs are in testdata.
package house
