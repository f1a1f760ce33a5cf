// Package dataset is about tables and how files become them.
//
// It serves everybody who turns a file into numbers: an agent at a party, a simulation, a person
// who applies a release. A file becomes a [Table] of text cells ([ReadCSV], [ReadLines], [ReadIDX],
// [ReadJPEGs]). A [Schema], public and fixed before any record is seen, turns a table into
// [Records] whose features all lie in [0,1]. A [Map], fitted on public rows alone, turns those into
// model features of norm at most 1, the bound that the noise is calibrated for.
//
// Guarantees:
//
//   - Data never decide an encoding. Bounds and levels come from the schema, the map from the
//     public pool. Two parties with the same schema and map get columns of the same meaning, and
//     [Schema.Dim] is known without data.
//   - No cell is ever refused. A number outside its bounds is clamped, a text that is no level
//     becomes "other", a missing number becomes the middle of its range. [Remark] values count such
//     cells; they are as private as the data and for the data's owner only.
//   - Every row that leaves [Map.Apply] has Euclidean norm at most 1, whatever the cells were.
//   - Equal input gives equal output: no clock, no global randomness, no dependence on map order.
//     The arithmetic is gonum's, so the last bits of a fitted map may differ between processor
//     architectures: fit once and distribute the map.
//
// How to extend it: another file format is one more reader that gives [Rows], as in dataset/files.
// Another public map is one more Kind of Map, as random patches of pictures ([FitPatches]), columns
// by their own scale ([FitFAMD]) and random Fourier features ([FitFourier]) are. Maps may follow
// each other ([Map.After]).
//
// This package opens no files: readers take an io.Reader, known sets an fs.FS.
//
// # In which order to read it
//
// No file uses what a later one declares, but the maps of part 4 are a circle.
//
//  1. Tables and readers: table.go, tablebuilder.go, remark.go, records.go, rows.go, csv.go,
//     lines.go, quoted.go, idx.go, jpeg.go.
//  2. Schemas: schema.go, dates.go, schemacheck.go, within.go (one schema within another).
//  3. Encoding: cells.go, columncodes.go, encode.go, decode.go, blocks.go.
//  4. Maps: frequencies.go, pca.go, featuremap.go, famd.go, fourier.go, patches.go; components.go
//     (their number), kept.go (variance kept), words.go.
//  5. Questions: where.go (conditions), outside.go (records that a condition excludes), ask.go.
//  6. Also: draft.go (a first schema), known.go, hospitals.go (known sets).
package dataset
