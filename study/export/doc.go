// Package export writes a checked release's classifier for use elsewhere: schema, encoding, map,
// weights and caveats in one self-contained file, as JSON, Python, R, SQL or ONNX.
//
// Exported models give the numbers of caucus release predict to 1e-9, also for missing cells, unknown
// levels and values out of range. A model that a language cannot express is refused with the reason.
// The plan's author chose the names of columns, levels and classes. They enter code as text only,
// quoted by one function for each language.
package export
