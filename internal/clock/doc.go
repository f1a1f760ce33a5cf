// Package clock is the time as a daemon sees it, so that tests can set it: what
// the clock on the wall says, which somebody may set, and the time that passes,
// which goes on steadily whatever it is set to. Deadlines and dates are of the
// first; waits, rates and timeouts of the second.
package clock
