// Package mapping is about how a site's own columns become a schema's.
//
// It is for whoever has a file that was not made for a study: a hospital's
// export with its own names, codes, units, dates and words for missing values.
// A [Mapping] is a page of YAML that the site writes, or drafts with [Suggest];
// [Mapping.Bind] holds it against a file's columns and a schema's, and what comes
// of that maps one record of the file to one record of the schema.
//
// Proof note: a bound mapping is a function from one record to one record. It
// reads the record's cells and constants of the mapping and nothing else: no other
// record, no clock, no random number, no state (the counters of a [Bound] are
// written and never read while records are mapped; what an expression computes
// with is written anew for each record). So if two files differ in one record, what
// is mapped differs in one record at most, and every bound that holds for records of a file holds
// for mapped ones. It is total: what is no number, no date or no value of an
// expression is an empty cell, a malformed record is an empty one, and nothing
// is an error once a mapping is bound, which hangs on columns' names alone. It is
// bounded: an expression has at most maxNodes parts, no loops, no lists, and
// texts of at most maxText bytes ([Bound.Cells] counts its work).
// FuzzMapping holds that a file is mapped as each of its lines alone, in any
// order.
//
// What this cannot know is where a file's columns come from. A column that was
// computed from other records (a rank, a mean of the ward, a score of a model that
// was trained on them) makes neighbours differ in more than one record before
// they are a file. Derived names such columns; that there are no others is the
// claim of the person who declares the source.
package mapping
