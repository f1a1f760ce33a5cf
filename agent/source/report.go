package source

import (
	"fmt"
	"io"
	"strings"
	"time"

	"caucus/internal/textpage"
)

// Report describes a source. Found and later fields come from the records: for the site only.
type Report struct {
	Source string `json:"source"`
	File   string `json:"file"` // or the name of the query
	// Declared is the declaration in force, else nil; Waits says why.
	Declared *Declaration `json:"declared"`
	Waits    string       `json:"waits,omitempty"`
	// Read: the file was read now.
	Read    bool     `json:"read"`
	Form    string   `json:"form,omitempty"`  // kind of the file
	Found   int      `json:"found,omitempty"` // records
	Columns []string `json:"columns,omitempty"`
	Remarks []string `json:"remarks,omitempty"`
	// Changed: the file has changed since it was declared. That is no problem: studies of an import get
	// the imported records.
	Changed bool `json:"changed,omitempty"`
	// Taken is the file as the last day's first study saw it, for a source declared to be written anew; else nil.
	Taken *Taken `json:"taken,omitempty"`
	// Problem says why the file cannot be read as declared, so that a study would get empty records, or
	// how it differs from expectation.
	Problem string `json:"problem,omitempty"`

	seen Seen
}

// Taken describes a source's file as the first study of a day saw it, for the site only.
type Taken struct {
	Day     string `json:"day"` // UTC
	Digest  string `json:"sha256"`
	Records int    `json:"records"`
	// Problems say where it differs from expectation (Expected).
	Problems []string `json:"problems,omitempty"`
}

// How holds a person's choices for a declaration.
type How struct {
	// Vouch answers for columns that were computed from other records.
	Vouch bool
	// Ask, if not nil, shows the person the result of the reading; nil from it means yes.
	Ask      func(Report) error
	Progress Progress
}

func leftOut(d Declaration) string {
	if n := d.Found - d.Records; n > 0 && d.Import != "" {
		return fmt.Sprintf(" (%d of %s are left out, so that the number is round)", n, textpage.Count(d.Found, "record"))
	}
	return ""
}

func declaredBy(d Declaration) string {
	if d.By == "" { // not yet
		return ""
	}
	return fmt.Sprintf(", by %s on %s", d.By, d.At.Format(time.DateOnly))
}

// WriteText writes a report for people.
func (r Report) WriteText(w io.Writer) error {
	var t textpage.Page
	t.Add("source", "%s, %s", r.Source, r.File)
	switch {
	case r.Declared != nil:
		t.Add("declared", "%s for every study%s%s", textpage.Count(r.Declared.Records, "record"), leftOut(*r.Declared), declaredBy(*r.Declared))
		t.Add("claims", "%s", r.Declared.Claims())
	default:
		t.Add("waits", "%s", r.Waits)
	}
	if r.Read {
		t.Add("found", "%s: %s, %s", r.Form, textpage.Count(r.Found, "record"), textpage.Count(len(r.Columns), "column"))
		t.Add("columns", "%s", strings.Join(r.Columns, ", "))
	}
	for _, m := range r.Remarks {
		t.Add("", "%s", m)
	}
	if t0 := r.Taken; t0 != nil {
		t.Add("taken", "on %s: %s (file %s)", t0.Day, textpage.Count(t0.Records, "record"), t0.Digest[:min(16, len(t0.Digest))])
		for _, p := range t0.Problems {
			t.Add("", "%s", p)
		}
	}
	if r.Changed {
		get := "what was imported then; if they are to get what it is now, have it declared again"
		if r.Declared.Import == "" {
			get = "its records as they are"
		}
		t.Add("changed", "the file is not what it was on that day: studies get %s", get)
	}
	if r.Problem != "" {
		t.Add("problem", "%s", r.Problem)
	}
	return t.WriteText(w)
}
