// Package kinds is the table of the kinds of study: which there are, and how a plan
// is read, checked and made into a task. It is for daemons, simulations and
// verification; no kind imports it.
//
// It guarantees that ParsePlan and PlanOf refuse a plan that its kind refuses. A
// further kind is one row here.
package kinds
