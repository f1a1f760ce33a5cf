// Package terms is about the terms of a study: all that a person can set, such as epsilon or
// map.project. One table of terms gives the keys of a study file, the flags and --set of the
// command line, the reference and the shell completion.
//
// The package serves code that reads study files or offers terms as flags. It guarantees that
//
//   - a term has one name, one type and one meaning, in a file and on the command line;
//   - no key is ignored: a key that is not a term of the study's kind is an error, which names the
//     nearest key, or the kind that has the key;
//   - a rehearsal (simulated study), a forecast and the plan of one file have the same terms,
//     except keys below simulate, which only the rehearsal has.
//
// The table comes from Go types: each field of [study.Proposal], of a kind's terms
// (study.Kind.Terms) or of a kind's rehearsal (simulate.Terms) is a term, with the tags `yaml` (the
// key), `help` (its meaning), `default` and `file`. Read [Term] first, then [Read].
package terms
