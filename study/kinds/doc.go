// Package kinds is about the table of all kinds of study: it reads and checks plans and makes their
// tasks. Daemons, simulations and verification use it; no kind imports it. A new kind adds one row
// here.
//
// It guarantees that ParsePlan and PlanOf refuse every plan that its kind refuses.
package kinds
