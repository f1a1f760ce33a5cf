// Package survival is a party's half of the study kind survival: how many of its records have an
// event, or are last seen without one, in each public interval of time. Package lifetable makes the
// curves; no party needs it.
//
// It guarantees that each record lies in exactly one cell, whatever the record holds, so that one
// histogram is all that leaves a site.
package survival
