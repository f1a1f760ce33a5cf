package health

import (
	"fmt"
	"io"

	"caucus/internal/textpage"
)

// Status is how well something is.
type Status string

// The statuses of a CheckResult, from best to worst.
const (
	OK      Status = "ok"
	Warning Status = "warning" // it works, and somebody should look
	Problem Status = "problem" // it keeps this site from taking part, or its records from counting
)

// Result is what a Checkup found of one thing, in a line: how it is, or what is
// wrong and what to do.
type Result struct {
	About  string `json:"about"`
	Status Status `json:"status"`
	Says   string `json:"says"`
}

// Checkup is what a person is told who asks whether an agent can do its work. It
// tells of the records: it is for the eyes of the site.
type Checkup struct {
	Checks []Result `json:"checks"`
	// Worst is the worst status of them.
	Worst Status `json:"worst"`
}

func fine(about, format string, args ...any) Result {
	return Result{about, OK, fmt.Sprintf(format, args...)}
}

func warning(about, format string, args ...any) Result {
	return Result{about, Warning, fmt.Sprintf(format, args...)}
}

func problem(about, format string, args ...any) Result {
	return Result{about, Problem, fmt.Sprintf(format, args...)}
}

func checkupOf(all []Result) Checkup {
	c := Checkup{Checks: all, Worst: OK}
	for _, f := range all {
		if f.Status == Problem || f.Status == Warning && c.Worst == OK {
			c.Worst = f.Status
		}
	}
	return c
}

// Problems is how many findings are problems.
func (c Checkup) Problems() int {
	n := 0
	for _, f := range c.Checks {
		if f.Status == Problem {
			n++
		}
	}
	return n
}

// WriteText writes a line for each finding.
func (c Checkup) WriteText(w io.Writer) error {
	wide := 0
	for _, f := range c.Checks {
		wide = max(wide, len([]rune(textpage.Printable(f.About))))
	}
	for _, f := range c.Checks {
		if _, err := fmt.Fprintf(w, "%-8s %-*s  %s\n", f.Status, wide, textpage.Printable(f.About), textpage.Printable(f.Says)); err != nil {
			return err
		}
	}
	return nil
}
