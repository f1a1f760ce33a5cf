// Package learners is about losses, one minimiser and classifiers.
//
// It trains classifiers on rows of numbers: for a site on its own records, for an analyst on a
// public pool with soft labels. It knows nothing of parties, privacy or networks.
//
// Conventions. A matrix is a *mat.Dense whose rows are records. Classes are the integers 0..K-1;
// any other label means "unlabelled", and a fit leaves the row out. The weights of a linear model
// are d×C with C = 1 for two classes (the score of class 1; class 0 scores 0) and C = K otherwise,
// as a row-major vector in the minimiser.
//
// Guarantees.
//
//   - Everything is deterministic given its arguments. Randomness comes from the caller's
//     *rand.Rand.
//   - Fit never fails because of the records: no records, one class or very few records give a
//     [ConstantModel] model. Its errors are for arguments of wrong shapes.
//   - Fit ends within a number of steps that depends on public sizes (TrainingSteps), and soon
//     after its context ends.
//   - Minimize stops after the given iterations, and reports whether it reached the gradient norm.
//   - Objectives are convex under the conditions that their comments state. They are not for
//     concurrent use.
//
// Wrong shapes are a mistake in the calling program. Objectives and models then panic with a
// message that names them. Nothing here reads a file, a clock or a global.
//
// # In which order to read it
//
// No file uses a declaration of a later one, except that the losses of part 2 use each other, and
// so do the learners of part 3.
//
//  1. linear.go, channel.go (wrong labels), measures.go, recalibrate.go, calibrated.go,
//     minimize.go, moments.go, sweep.go (blocks of rows).
//  2. Risks: hingerisk.go, softmaxrisk.go; losses.go, losspieces.go, losslink.go; marginrisk.go,
//     rankrisk.go (AUC).
//  3. Learners: bins.go, learner.go, cart.go, forest.go, knn.go, naivebayes.go, linearlearner.go;
//     work.go bounds the work of each.
package learners
