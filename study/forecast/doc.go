// Package forecast estimates what a plan would be worth: it draws records that nobody holds, and runs
// the plan on them.
//
// It serves whoever plans a study, and sites that decide whether to join. It knows only what is public:
// the plan and its pool, how many parties hold how many records, the classes' shares, and how well
// features are known to separate the classes (an AUC). Each draw
//
//   - makes records that look like the pool's rows, with labels from a linear truth of that separation
//     and those shares (problem);
//   - runs the plan among virtual parties, with the real contributions, the real mechanism under
//     simulated noise, and the real fit (simulate.Rehearse);
//   - measures the release on new records, beside one party's own classifier, a classifier of all
//     records pooled, and the largest class.
//
// So a forecast serves every mechanism of classify and any number of classes, and cannot drift from the
// code: it runs the code. It ignores that parties differ from each other and from the pool, and that a
// truth may not be linear.
//
// The same question gets the same answer: the seed is fixed and public.
package forecast
