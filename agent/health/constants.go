package health

import (
	"fmt"
	"strings"

	"caucus/agent/site"
)

// constants counts the contributions that this site made, and those of which all or a part
// was a constant in place of what its records say, by why. It is for the site's eyes; of
// late ones alone its metrics tell (counts has the proof).
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
		}{{site.FileLate, &c.late}, {site.FileUnread, &c.unread}, {site.FileNoVotes, &c.unvoted}} {
			if d.Has(why.file) {
				*why.n++
			}
		}
	}
	return c, err
}

// whys are what was constant, and what to do, "" where nothing was.
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

// Constants says how many contributions tell less than this site's records would.
func Constants(s *site.Site) Result {
	const about = "contributions"
	c, err := constantsOf(s)
	switch whys := c.whys(); {
	case err != nil:
		return problem(about, "%v", err)
	case whys != "":
		return warning(about, "%d made; a constant stands for all or a part of %s: caucus agent preview names them", c.made, whys)
	}
	return fine(about, "%d made, none of them a constant", c.made)
}
