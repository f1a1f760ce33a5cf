// Package dataset is about tables and how files become them.
//
// It is for everybody who turns a file into numbers: an agent at a party, a
// simulation, a person who applies a release. A file becomes a [Table] of
// text cells ([ReadCSV], [ReadLines], [ReadIDX], [ReadJPEGs]); a [Schema], which is public and fixed
// before any record is seen, turns a table into [Records] whose features all
// lie in [0,1]; a [Map], which is fitted on public rows alone, turns those into
// the model features whose norm is at most 1 that the noise is calibrated for.
//
// Guarantees:
//
//   - Data never decide an encoding. Bounds and levels come from the schema, the
//     map comes from the public pool. Two parties with the same schema and map
//     get columns of the same meaning, and [Schema.Dim] is known without data.
//   - No cell is ever refused. A number outside its bounds is clamped, a text
//     that is no level becomes "other", a missing number becomes the middle of its
//     range. How often that happened is told in [Remark] values, which are as
//     private as the data and are for the owner of the data only.
//   - Every row that leaves [Map.Apply] has Euclidean norm at most 1, whatever
//     the cells were.
//   - Equal input gives equal output: no clock, no global randomness, no
//     dependence on map order. Arithmetic is that of gonum, so the last bits of a
//     fitted map may differ between processor architectures; fit once and
//     distribute the map.
//
// Where things may grow: another file format is one more reader that gives
// [Rows], as those of room files are; another public map is one more Kind of Map, as random patches of pictures
// ([FitPatches]), columns by their own scale ([FitFAMD]) and random Fourier features ([FitFourier]) are; maps may follow
// each other ([Map.After]).
//
// This package opens no files: readers take an io.Reader and known sets an
// fs.FS.
//
// # In which order to read it
//
// No file uses what a later one declares, but the maps of part 4 are a circle.
//
//  1. Tables and readers: table.go, tablebuilder.go, remark.go, records.go, rows.go,
//     csv.go, lines.go, idx.go, jpeg.go.
//  2. Schemas: schema.go, dates.go, schemacheck.go, within.go (bounds).
//  3. Encoding: cells.go, columncodes.go, encode.go, decode.go, blocks.go.
//  4. Maps: frequencies.go, pca.go, featuremap.go, famd.go, fourier.go,
//     patches.go; components.go (how many), kept.go (how much), words.go.
//  5. Questions: where.go (conditions), outside.go (what schemas miss), ask.go.
//  6. Beside it: draft.go (a first schema), known.go, hospitals.go (known sets).
package dataset
