// Package clock gives daemons the time, so that tests can set it. It has two parts: the date and
// time, which somebody may set, and the elapsed time, which never jumps. Deadlines and dates use
// the first; waits, rates and timeouts use the second.
package clock
