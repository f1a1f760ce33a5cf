// Package terms is about what people say of a study: one table of its terms, which
// makes the keys of a study file, the flags and --set of the command line, the
// reference and completion.
//
// It is for whoever reads study files or offers terms as flags. It guarantees that
//
//   - a term has one name, one type and one meaning, wherever it is said;
//   - a key that is no term of the study's kind is an error that names the nearest
//     key, or the kind which has it: nothing is passed over;
//   - a rehearsal, a forecast and the plan of one file have the same terms. The keys
//     below simulate are a rehearsal's alone, and stand in no plan.
//
// The table is in the types themselves: a field of [study.Proposal], of a kind's terms
// (study.Kind.Terms) or of a kind's rehearsal (simulate.Terms) is a term, by its tags
// `yaml` (the key), `help` (what it is, for people), `default` and `file`. Read [Term]
// first, then [Read].
package terms
