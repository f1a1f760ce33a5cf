// Package mapping turns a site's own columns into a schema's.
//
// It serves whoever has a file that was not made for a study: a hospital's export with its own names,
// codes, units, dates and texts for missing values. A [Mapping] is a page of YAML that the site writes,
// or drafts with [Suggest]. [Mapping.Bind] checks it against a file's columns and a schema's; the result
// maps one record of the file to one record of the schema.
//
// Proof note. Claim: if two files differ in one record, their mapped records differ in at most one, so
// every bound that holds for records of a file holds for mapped ones.
//   - Function: a bound mapping is a function from one record to one record. It reads the record's cells
//     and the mapping's constants and nothing else: no other record, no clock, no random number, no
//     state. (The counters of a [Bound] are written and never read while records are mapped; the values
//     that an expression computes with are made anew for each record.)
//   - Total: what is no number, no date or no value of an expression is an empty cell, and a malformed
//     record is an empty one. Once a mapping is bound, which depends on the columns' names alone,
//     nothing is an error.
//   - Bounded: an expression has at most maxNodes parts, no loops, no lists, and texts of at most
//     maxText bytes ([Bound.Cells] counts its work).
//
// FuzzMapping checks that a file is mapped like each of its lines alone, in any order.
//
// The claim does not cover the origin of a file's columns. A column that was computed from other records
// (a rank, a mean of the ward, a score of a model that was trained on them) makes neighbours differ in
// more than one record before they are a file. Mapping.Derived names such columns. The person who
// declares the source answers for there being no others.
package mapping
