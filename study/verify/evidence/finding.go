package evidence

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"caucus/internal/textpage"
)

// Verdict is the outcome of checking one claim of a release.
type Verdict string

const (
	Holds Verdict = "holds" // the claim was recomputed, or a signature or hash proves it
	Fails Verdict = "fails" // the claim is false, or contradicts another claim
	// the coordinator knows whether the claim is true, and nobody can check it
	CoordinatorsWord Verdict = "word"
	NotProvable      Verdict = "trust" // nobody can prove the claim
	// the claim could be checked with something that the verifier does not have
	Unchecked Verdict = "unchecked"
)

// Verdicts lists all verdicts in the order in which findings are shown.
var Verdicts = []Verdict{Fails, Holds, CoordinatorsWord, NotProvable, Unchecked}

// Title heads the findings with this verdict, on pages and terminals.
func (v Verdict) Title() string {
	return map[Verdict]string{
		Fails: "DOES NOT HOLD", Holds: "Holds", CoordinatorsWord: "Only the coordinator's word", NotProvable: "Must be trusted", Unchecked: "Not checked",
	}[v]
}

// Count says how many claims have a verdict, for example "12 hold".
func (v Verdict) Count(n int) string {
	if n == 1 {
		return "1 " + map[Verdict]string{Fails: "does not hold", Holds: "holds",
			CoordinatorsWord: "is the coordinator's word", NotProvable: "must be trusted",
			Unchecked: "was not checked"}[v]
	}
	return strconv.Itoa(n) + " " + map[Verdict]string{Fails: "do not hold", Holds: "hold",
		CoordinatorsWord: "are the coordinator's word", NotProvable: "must be trusted",
		Unchecked: "were not checked"}[v]
}

// Finding is the outcome of checking one claim of a release.
type Finding struct {
	Subject string  `json:"about"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"says"`
}

// AnyFails reports whether a finding has the verdict Fails; Unchecked claims do not count.
func AnyFails(all []Finding) bool {
	return slices.ContainsFunc(all, func(f Finding) bool { return f.Verdict == Fails })
}

// WriteText writes findings under the titles of their verdicts, for a person.
func WriteText(w io.Writer, all []Finding) {
	for _, v := range Verdicts {
		first := true
		for _, f := range all {
			if f.Verdict != v {
				continue
			}
			if first {
				fmt.Fprintf(w, "\n%s\n", v.Title())
				first = false
			}
			textpage.WriteWrapped(w, fmt.Sprintf("%-14s", f.Subject), f.Text)
		}
	}
}

type findings []Finding

func (f *findings) add(v Verdict, about, format string, args ...any) {
	*f = append(*f, Finding{about, v, fmt.Sprintf(format, args...)})
}

func (f *findings) claims(about string, ok bool, format string, args ...any) bool {
	if !ok {
		f.add(Fails, about, format, args...)
	}
	return ok
}
