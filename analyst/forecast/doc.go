// Package forecast is about how useful the release of a plan would be. It draws made-up records and
// runs the plan on them.
//
// It serves people who plan a study, and sites that decide whether to join. It uses only public
// inputs: the plan and its pool, the numbers of parties and of records, the classes' shares, and
// how well a classifier could separate the classes (an AUC). Each draw
//
//   - makes records that look like the pool's rows; their labels follow a linear model with the
//     given AUC and class shares (problem);
//   - runs the plan among virtual parties: the real contributions, the real mechanism with
//     simulated noise, and the real fit (simulate.RunPlan);
//   - measures the release on new records, and for comparison one party's own classifier, a
//     classifier trained on all records together, and the rule that always names the largest class.
//
// So a forecast works for every mechanism of classify and any number of classes, and needs no
// change when a mechanism changes. It ignores that real parties differ from each other and from the
// pool, and that a true relation may not be linear.
//
// Equal inputs give equal forecasts, because the seed is fixed and public.
package forecast
