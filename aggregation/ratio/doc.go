// Package ratio estimates class ratios: the share of each class in an unlabelled set, from sets
// with known or noisy class shares (Iyer, Nath & Sarawagi 2016).
//
// Fit fits a model to the mean embeddings of sets. Model.Estimate estimates the shares of a target.
//
//   - Its intervals cover the sampling of the target and the sets, and the privacy noise. It warns
//     if no mixture of the classes looks like the target.
//   - It takes released numbers and the known distribution of their noise. This is post-processing,
//     at no privacy cost. Its own random draws come from a generator that is an argument.
//   - Package embedding computes the integer sums that sites release in place of embeddings, and
//     their bound.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except within part 3, whose files use each other.
//
//  1. Embeddings: kernel.go, gram.go.
//  2. Solving: problem.go, quadratic.go, estimators.go.
//  3. Fit and estimate: model.go, spread.go (variances), estimate.go.
//  4. json.go; measures.go, protocols.go (test sets); width.go, fitopen.go (search).
package ratio
