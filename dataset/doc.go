// Package dataset is about tables and how files become tables.
//
// It turns files into numbers for an agent at a party, for a simulation, and for a person who
// applies a release. Readers ([ReadCSV], [NewLines]) turn a file into a [Table] of text
// cells. A [Schema], public and fixed before any record is seen, turns a table into [Records] with
// features in [0,1]. A [Map], fitted on public rows alone, turns these into model features of norm
// at most 1. The noise is calibrated to that bound.
//
// Guarantees:
//
//   - Data never decide an encoding. Bounds and levels come from the schema, and the map from the
//     public pool. Two parties with the same schema and map get columns of the same meaning, and
//     [Schema.Dim] is known without data.
//   - No cell is refused. A number outside its bounds is clamped, an unknown text becomes "other",
//     a missing number becomes the middle of its range. [Remark] values count such cells. They are
//     as private as the data, and only for the data's owner.
//   - Every row that leaves [Map.Apply] has Euclidean norm at most 1, whatever the cells were.
//   - Equal input gives equal output: no clock, no global randomness, no dependence on map order.
//     The arithmetic is gonum's, so the last bits of a fitted map may differ between processor
//     architectures. So fit once and distribute the map.
//
// To add a file format, write a reader that returns [Rows], as in dataset/files. To add a public
// map, add a Kind of Map, like [FitFAMD], which scales each column separately. Maps can be chained
// ([Map.ComposeWith]).
//
// This package opens no files. Readers take an io.Reader.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except that the maps of part 4 use each other.
//
//  1. Tables and readers: table.go, tablebuilder.go, remark.go, records.go, rows.go, csv.go,
//     lines.go, quoted.go.
//  2. Schemas: schema.go, celltext.go (values of other formats as text; days are in package
//     dates), schemacheck.go, within.go (one schema within another).
//  3. Encoding: cells.go, columncodes.go, encode.go, decode.go, blocks.go.
//  4. Maps: pca.go, featuremap.go, famd.go, kept.go (variance kept), bins.go
//     (outputs beside the components), components.go (which components to keep), words.go.
//  5. Questions: where.go (conditions), outside.go (their meaning in a schema), ask.go;
//     encodedtable.go (a table's records, encoded when they are selected), coding.go (records of
//     equal length in bytes, for a table on disk), parts.go (a file part by part).
//  6. Also: usual.go (what columns usually hold: marks of missing values, formats of dates).
package dataset
