// Package decimal compares decimal numbers as people write them, without rounding. Levels of a
// schema are found by it: "3.0" is the level "3", and of two codes of twenty digits neither is the
// other.
package decimal
