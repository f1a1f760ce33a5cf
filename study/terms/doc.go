// Package terms holds the terms of a study, which is everything that a person can set, such as
// epsilon or map.project. One table of terms makes the keys of a study file, the flags and --set of
// the command line, the reference and the shell completion.
//
// The package serves code that reads study files or offers terms as flags. It guarantees that
//
//   - a term has one name, one type and one meaning, in a file and on the command line;
//   - no key is ignored: a key that is no term of the study's kind is an error, which names the
//     nearest key, or the kind that has the key;
//   - a rehearsal, a forecast and the plan of one file have the same terms. Keys below simulate
//     belong to the rehearsal and enter no plan.
//
// The table comes from Go types: each field of [study.Proposal], of a kind's terms (study.Kind.Terms)
// or of a kind's rehearsal (simulate.Terms) is a term, with the tags `yaml` (the key), `help` (its
// meaning), `default` and `file`. Read [Term] first, then [Read].
package terms
