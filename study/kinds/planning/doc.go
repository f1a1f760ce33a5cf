// Package planning is about making plans: from a proposal and a public pool to a plan that parties
// can approve, with forecasts of the noise. No party needs it; a party checks what it receives
// (package kinds).
package planning
