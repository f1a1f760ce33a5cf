// Package zone finds time zones by their names, so that a moment has a day. It reads no clock. The
// database of zones is part of the program, because small machines have none.
package zone
