// Package export is about a checked release's classifier in one file for use elsewhere: schema,
// encoding, map, weights and caveats, as JSON, R, SQL or ONNX.
//
// The curves of a survival release and the coefficients of a regress release become a Frame: CSV,
// or R with a function that draws them.
//
// An exported model gives the numbers of "caucus release predict" to 1e-9, also for missing cells,
// unknown levels and values out of range. If a language cannot express a model, export says why.
// The names of columns, levels and classes come from the plan's author, who may be hostile. So they
// enter code only as text, quoted by one function for each language.
package export
