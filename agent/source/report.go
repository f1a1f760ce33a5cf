package source

import (
	"fmt"
	"io"
	"strings"
	"time"

	"caucus/internal/textpage"
)

// Report describes a source. Found and the fields after it come from the records, so they are for
// the site only.
type Report struct {
	Source string `json:"source"`
	File   string `json:"file"` // or the query's name
	// Declared is the declaration in force, nil if there is none. WaitReason then says why.
	Declared   *Declaration `json:"declared"`
	WaitReason string       `json:"waits,omitempty"`
	// Read reports whether the file was read now.
	Read    bool     `json:"read"`
	Form    string   `json:"form,omitempty"`  // kind of the file
	Found   int      `json:"found,omitempty"` // records
	Columns []string `json:"columns,omitempty"`
	Remarks []string `json:"remarks,omitempty"`
	// FileChanged reports whether the file has changed since it was declared. That is no problem,
	// because studies of an import get the imported records.
	FileChanged bool `json:"changed,omitempty"`
	// LatestSnapshot describes the file as the first study of the latest day read it, for a source
	// that is declared to be written again regularly; else nil.
	LatestSnapshot *DailySnapshot `json:"taken,omitempty"`
	// Problem says why the file cannot be read as declared, so that a study would get empty
	// records, or what is unexpected in it.
	Problem string `json:"problem,omitempty"`

	seen     SourceReading
	patients *choices
}

// DailySnapshot describes a source's file as the first study of a day read it. It is for the site
// only.
type DailySnapshot struct {
	Day     string `json:"day"` // UTC
	Digest  string `json:"sha256"`
	Records int    `json:"records"`
	// Problems lists what is outside of Expected.
	Problems []string `json:"problems,omitempty"`
}

// DeclareOptions says how a source is declared: who vouches, and who sees what was read before it
// counts.
type DeclareOptions struct {
	// Vouch says that the person answers for columns that were computed from other records.
	Vouch bool
	// Ask, if not nil, shows the person what was read. If it returns nil, the person agrees.
	Ask      func(Report) error
	Progress Progress
}

func leftOut(d Declaration) string {
	if n := d.RecordsRead - d.Records; n > 0 && d.ImportDigest != "" {
		return fmt.Sprintf(" (%d of %s are left out, so that the number is round)", n, textpage.Count(d.RecordsRead, "record"))
	}
	return ""
}

func declaredBy(d Declaration) string {
	if d.By == "" { // not declared yet
		return ""
	}
	return fmt.Sprintf(", by %s on %s", d.By, d.At.Format(time.DateOnly))
}

// WriteText writes the report for a terminal, with the number of records and the file's remarks:
// for this site's persons alone.
func (r Report) WriteText(w io.Writer) error {
	var t textpage.Page
	t.Add("source", "%s, %s", r.Source, r.File)
	switch {
	case r.Declared != nil:
		t.Add("declared", "%s for every study%s%s", textpage.Count(r.Declared.Records, "record"),
			leftOut(*r.Declared), declaredBy(*r.Declared))
		if n := r.Declared.Patients; n > 0 {
			t.Add("patients", "%s for studies at unit patient, one record of each", textpage.Count(n, "patient"))
		}
		t.Add("claims", "%s", r.Declared.ClaimText())
	default:
		t.Add("waits", "%s", r.WaitReason)
	}
	if r.Read {
		t.Add("found", "%s: %s, %s", r.Form, textpage.Count(r.Found, "record"),
			textpage.Count(len(r.Columns), "column"))
		t.Add("columns", "%s", strings.Join(r.Columns, ", "))
	}
	for _, m := range r.Remarks {
		t.Add("", "%s", m)
	}
	if t0 := r.LatestSnapshot; t0 != nil {
		t.Add("taken", "on %s: %s (file %s)", t0.Day, textpage.Count(t0.Records, "record"),
			t0.Digest[:min(16, len(t0.Digest))])
		for _, p := range t0.Problems {
			t.Add("", "%s", p)
		}
	}
	if r.FileChanged {
		get := "what was imported then; if they are to get what it is now, have it declared again"
		if r.Declared.ImportDigest == "" {
			get = "its records as they are"
		}
		t.Add("changed", "the file is not what it was on that day: studies get %s", get)
	}
	if r.Problem != "" {
		t.Add("problem", "%s", r.Problem)
	}
	return t.WriteText(w)
}
