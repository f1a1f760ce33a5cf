// Package export is about taking a release's classifier to where it is used: it
// writes schema, encoding, map, weights and what must be said of them as one file
// that needs nothing else, in a language of the reader's: JSON, Python, R, SQL,
// ONNX.
//
// It takes a release that was checked and gives bytes. What it writes gives the
// numbers of caucus release predict to 1e-9, on missing cells, unknown levels and values
// out of range too; what a language cannot say is refused with the reason. Names of
// columns, levels and classes were chosen by whoever wrote the plan: they go into code
// as text only, quoted by the one function that each language has for that.
package export
