// Package ratio is about class ratios: how many records of each class a set
// holds whose labels nobody knows, from sets whose class shares are known, or
// released with noise (Iyer, Nath & Sarawagi 2016).
//
// It is for the study machine and for researchers who want the estimators
// alone. A model is fitted to the mean embeddings of sets (Fit), estimates the
// shares of a target (Model.Estimate) with intervals that count what the target,
// the sets and the privacy noise leave unknown, and says when no mixture of its
// classes looks like the target. Released numbers and the known law of their
// noise come in, so that all of it is free post-processing; random draws of its
// own come from a generator that is an argument. The integer sums that sites
// release in place of embeddings, and how far one record moves them, are
// Embedder.AddIntegersTo and Lattice.Bound.
//
// # In which order to read it
//
// No file uses what a later one declares, but part 3 is a circle.
//
//  1. Embeddings: kernel.go, fourier.go, gram.go.
//  2. Solving: problem.go, quadratic.go, estimators.go.
//  3. Fit and answer: model.go, spread.go (variances), estimate.go.
//  4. json.go; measures.go, protocols.go (test sets); width.go, fitopen.go (search).
package ratio
