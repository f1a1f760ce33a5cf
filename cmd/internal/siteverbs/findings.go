package siteverbs

import (
	"fmt"
	"io"

	"caucus/cmd/internal/console"
	"caucus/internal/textpage"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/verify/evidence"
)

// verification is the JSON document of a checked release.
type verification struct {
	Release string `json:"release"`
	// Holds reports that no check fails. Findings also name claims that rest on the coordinator's
	// word, and claims that must be trusted.
	Holds    bool               `json:"holds"`
	Findings []evidence.Finding `json:"findings"`
	Manifest study.Manifest     `json:"manifest"`
}

// PrintFindings prints what was found of the release in a file. holds is the last line if no check
// fails; a check that fails is an error.
func PrintFindings(c *console.Console, file string, r protocol.SignedRelease,
	found []evidence.Finding, holds string) error {
	doc := verification{Release: file, Holds: !evidence.AnyFails(found), Findings: found,
		Manifest: r.Release.Manifest}
	if err := c.Print(doc, func(w io.Writer) { doc.writeText(w, holds) }); err != nil {
		return err
	}
	return FirstFailure(file, found)
}

// FirstFailure returns the first check that fails of a release's file, as an error.
func FirstFailure(file string, found []evidence.Finding) error {
	for _, f := range found {
		if f.Verdict == evidence.Fails {
			return fmt.Errorf("%s does not hold: %s: %s", file, f.Subject, f.Text)
		}
	}
	return nil
}

func (v verification) writeText(w io.Writer, holds string) {
	w = textpage.PlainWriter{Writer: w}
	m := v.Manifest
	fmt.Fprintf(w, "%s: %s by %s, %d of %d parties\n", v.Release, m.Kind, m.Mechanism, m.Parties,
		len(m.Contributed)+len(m.Missing))
	fmt.Fprintf(w, "It claims that each %s is hidden at ε = %g, δ = %g; noise added by %s\n", m.Unit, m.Epsilon, m.Delta, m.Noise.Trust().By)
	evidence.WriteText(w, v.Findings)
	fmt.Fprintln(w, "\nNot protected, whatever holds")
	for _, n := range m.NotProtected {
		textpage.WriteWrapped(w, "- ", n)
	}
	if v.Holds {
		fmt.Fprintf(w, "\n%s\n", holds)
		return
	}
	fmt.Fprintln(w, "\nDo not believe this release.")
}
