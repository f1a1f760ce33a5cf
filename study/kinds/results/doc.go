// Package results is about the second half of all kinds of study: it makes results, reads releases
// and describes them. Coordinators, simulations, verification and analysts use it; no party needs
// it. A new kind adds one row here.
package results
