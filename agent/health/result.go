package health

import (
	"fmt"
	"io"
	"strings"

	"caucus/agent/site"
	"caucus/internal/textpage"
)

// Status grades a Result, from ok to problem. It is also the text in JSON.
type Status string

const (
	// OK asks for nothing of the person who reads it.
	OK      Status = "ok"
	Warning Status = "warning" // it works, but somebody should look
	Problem Status = "problem" // it keeps this site from taking part, or its records from counting
)

// Result is a Checkup's line about one thing: its state, or what is wrong and how to repair it.
type Result struct {
	Subject string `json:"about"`
	Status  Status `json:"status"`
	Text    string `json:"says"`
}

// Checkup reports whether an agent can do its work. It depends on the records, so it is for the
// site only.
type Checkup struct {
	Checks []Result `json:"checks"`
	Worst  Status   `json:"worst"`
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

// Problems counts what keeps this site from taking part, or its records from counting. Warnings are
// not among them.
func (c Checkup) Problems() int {
	n := 0
	for _, f := range c.Checks {
		if f.Status == Problem {
			n++
		}
	}
	return n
}

// WriteText writes a line for each result in aligned columns, with texts made safe for a terminal.
func (c Checkup) WriteText(w io.Writer) error {
	wide := 0
	for _, f := range c.Checks {
		wide = max(wide, len([]rune(textpage.Printable(f.Subject))))
	}
	for _, f := range c.Checks {
		if _, err := fmt.Fprintf(w, "%-8s %-*s  %s\n", f.Status, wide,
			textpage.Printable(f.Subject),
			textpage.Printable(f.Text)); err != nil {
			return err
		}
	}
	return nil
}

// constants counts this site's contributions and, for each reason, those in which a constant
// replaced all or a part. The counts are for the site only; metrics publish only the late
// contributions (Metrics has the proof).
type constants struct{ made, late, unread, unvoted int }

func constantsOf(s *site.Site) (c constants, err error) {
	all, err := s.Studies.Folders()
	for _, d := range all {
		if !d.Has(site.FileUpload) {
			continue
		}
		c.made++
		for _, why := range []struct {
			file string
			n    *int
		}{{site.FileMissedWindow, &c.late}, {site.FileReadFailure, &c.unread},
			{site.FileVoteFailure, &c.unvoted}} {
			if d.Has(why.file) {
				*why.n++
			}
		}
	}
	return c, err
}

func (c constants) whys() string {
	var out []string
	for _, why := range []struct {
		n    int
		says string
	}{
		{c.late, "not ready in time (raise least_window or margin, or give the agent another processor)"},
		{c.unread, "with empty records (a source could not be read as it was declared: put it back, or declare it again)"},
		{c.unvoted, "without the votes or scores of this site's own program"},
	} {
		if why.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", why.n, why.says))
		}
	}
	return strings.Join(out, ", ")
}

// CheckReplacedContributions reports the contributions in which a constant replaced all or a part.
func CheckReplacedContributions(s *site.Site) Result {
	const about = "contributions"
	c, err := constantsOf(s)
	switch whys := c.whys(); {
	case err != nil:
		return problem(about, "%v", err)
	case whys != "":
		return warning(about, "%d sent; a constant stands for all or a part of %s: caucus agent preview names them", c.made, whys)
	}
	return fine(about, "%d sent; none had to be replaced by a constant", c.made)
}
