// Package support is about how much of its schema a public pool covers: it draws a pool from public
// margins, reports gaps, and says what share of a pool meets a condition. Analysts use it; no party
// needs it.
package support
