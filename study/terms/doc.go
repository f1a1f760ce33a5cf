// Package terms is one table of everything that people can say about a study. The table makes the keys
// of a study file, the flags and --set of the command line, the reference and completion.
//
// It serves whoever reads study files or offers terms as flags. It guarantees that
//
//   - a term has one name, one type and one meaning, wherever it is said;
//   - no key is passed over: a key that is no term of the study's kind is an error that names the
//     nearest key, or the kind that has it;
//   - a rehearsal, a forecast and the plan of one file have the same terms. Keys below simulate belong
//     to a rehearsal alone and enter no plan.
//
// The types are the table: each field of [study.Proposal], of a kind's terms (study.Kind.Terms) or of a
// kind's rehearsal (simulate.Terms) is a term, with the tags `yaml` (the key), `help` (its meaning, for
// people), `default` and `file`. Read [Term] first, then [Read].
package terms
