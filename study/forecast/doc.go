// Package forecast is about what a plan would be worth: it draws records that
// nobody holds, and runs the plan on them.
//
// It is for whoever plans a study and for sites that decide whether to join. All it
// knows is public: the plan and its pool, how many parties hold how many records, the
// classes' shares, and how far features are known to separate the classes (an AUC).
// Each draw
//
//   - deals records that look like the pool's rows, with labels that follow a linear
//     truth of that separation and those shares (problem);
//   - runs the plan among virtual parties, by the real contributions, the real mechanism
//     with simulated noise, and the real fit (simulate.Rehearse);
//   - measures the release on new records, beside one party's own classifier, one of
//     all records pooled, and the largest class.
//
// So a forecast serves every mechanism of classify and any number of classes, and cannot
// drift from the code: it is the code. It leaves out that parties differ from each other
// and from the pool, and that a truth may not be linear.
//
// The same question gets the same answer: the seed is fixed and public.
package forecast
