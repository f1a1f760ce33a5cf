// Package learners is about losses, one minimiser and classifiers.
//
// It serves whoever trains a classifier on rows of numbers: a site on its own records, an analyst on a
// public pool with soft labels, a researcher who compares the two. It knows nothing of parties, privacy
// or networks.
//
// Conventions. A matrix is a *mat.Dense whose rows are records. Classes are the integers 0..K-1; any
// other label means "unlabelled" and the row is left out of a fit. The weights of a linear model are d×C
// with C = 1 for two classes (the score of class 1; class 0 scores 0) and C = K otherwise. The minimiser
// takes them as their row-major vector of d·C numbers.
//
// Guarantees.
//
//   - Everything is deterministic given its arguments. Randomness comes from the caller's *rand.Rand.
//   - Fit never fails because of the records: no records, one class or very few records give a
//     [Constant] model. Its errors are for arguments that do not fit together.
//   - Fit ends within steps that public sizes bound (Work), and soon after its context ends.
//   - Minimize stops after the given iterations, and reports whether it reached the gradient norm.
//   - Objectives are convex under the conditions documented there. They are not for concurrent use.
//
// Shapes that do not fit together are a mistake in the calling program: objectives and models then panic
// with a message that names the shapes, as gonum does. Nothing here reads a file, a clock or a global.
//
// # In which order to read it
//
// No file uses what a later one declares; the losses of part 2 and the learners of part 3 are circular.
//
//  1. linear.go, channel.go (wrong labels), measures.go, recalibrate.go, calibrated.go, minimize.go,
//     moments.go, sweep.go (blocks of rows).
//  2. Risks: hingerisk.go, softmaxrisk.go; losses.go, losspieces.go, losslink.go; marginrisk.go,
//     rankrisk.go (AUC).
//  3. Learners: bins.go, learner.go, cart.go, forest.go, knn.go, naivebayes.go, linearlearner.go;
//     work.go bounds the work of each.
package learners
