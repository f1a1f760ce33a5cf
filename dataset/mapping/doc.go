// Package mapping turns a site's own columns into a schema's.
//
// It is for a file that was not made for a study, such as a hospital's export with its own names,
// codes, units, dates and texts for missing values. A [Mapping] is a page of YAML that the site
// writes, or drafts with [Suggest]. [Mapping.Bind] checks it against the columns of a file and a
// schema; the result maps one record of the file to one record of the schema.
//
// Proof note. Claim: if two files differ in one record, their mapped records differ in at most one.
// So every bound for records of a file holds for mapped records.
//   - Function: a bound mapping is a function from one record to one record. It reads only the
//     record's cells and the mapping's constants: no other record, no clock, no random number, no
//     state. (The counters of a [BoundMapping] are written and never read while records are mapped;
//     the values in an expression are made anew for each record.)
//   - Total: a cell that lacks the number or date, or the value of an expression, becomes empty; a
//     malformed record becomes an empty record. Binding depends on the columns' names alone, and
//     after it nothing is an error.
//   - One patient: the forms of a patient's number are brought to one by the cell alone. If two
//     persons have one number by that, a bound for the patient covers both at once. Replacing one
//     of the two alone moves two records, and may move the number of patients, which is public.
//   - Bounded: an expression has at most maxNodes parts, no loops, no lists, and texts of at most
//     maxText bytes ([BoundMapping.Cells] counts its work).
//
// FuzzMapping checks that a file is mapped like each of its lines alone, in any order.
//
// The claim does not cover the origin of a file's columns. If a column was computed from other
// records (a rank, a mean of the ward, a score of a model trained on them), neighbours already
// differ in more than one record of the file. Mapping.Derived names such columns. The person who
// declares the source vouches that there are no others.
//
// # In which order to read it
//
// No file uses a declaration of a later one.
//
//  1. A mapping on paper: numbers.go (numbers and missing texts), units.go, expression.go,
//     mapping.go.
//  2. A mapping at work: bind.go (to the columns of a file), rows.go.
//  3. For a person: words.go (the same meaning in several languages), signs.go (decimal signs,
//     dates, units), codes.go (numbers for a missing value), sample.go (rows for a
//     draft), suggest.go (a draft), advice.go.
package mapping
