// Package export writes a release's classifier for use elsewhere: schema, encoding, map, weights and
// caveats in one self-contained file, as JSON, Python, R, SQL or ONNX.
//
// It takes a checked release and returns bytes. Exported models give the numbers of caucus release
// predict to 1e-9, also for missing cells, unknown levels and values out of range; what a language
// cannot express is refused with the reason. The plan's author chose the names of columns, levels and
// classes: they enter code as text only, quoted by the one function that each language has for that.
package export
