package agent

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// Taken is a source's file as the first study of a day had it: for the eyes of
// the site.
type Taken struct {
	Day     string `json:"day"` // UTC
	Digest  string `json:"sha256"`
	Records int    `json:"records"`
	// Problems say in what it was not as expected (Expected).
	Problems []string `json:"problems,omitempty"`
}

// take keeps, in the window of a study that was charged, what the site should
// know of the file that the study is given: in what it is not as expected, beside
// the study; and of a source that is written anew, once a day, what it was. It
// changes nothing about the study.
//
// Proof note: what a file that failed its bounds may change. Whether more than
// so many cells of a file can be read may hang on a single record; a study that
// was given its records where they can, and constants where they cannot, would
// tell of that record without any noise that covers it. So
//   - n, the schema, the mapping and whether the site takes part are what was
//     declared. None of them is asked of the file again;
//   - no bound of Expected is a condition of anything that is made here. A record
//     of cells that are nothing to the schema is by itself what an empty record is:
//     numbers in the middle of their range, levels that are other, no label. So a
//     file that turned to garbage gives a constant, record by record, and one
//     where garbage begins at some line gives the records before it: each is a
//     function of one line (dataset.ReadLines, mapping), neighbours stay
//     neighbours, and the bound of the study covers what leaves;
//   - what take writes lies in the state folder, for preview, check and source
//     list. No line of a log says it, as logs may leave the machine: audit lines
//     to syslog, others to where a site collects them. It is written in the
//     window, in which the agent is silent (window has the proof).
//
// TestTurnedToGarbage would catch it.
func (s *state) take(p study.Plan, d Declaration, read reading) {
	problems := s.config.Data[d.Source].problems(read)
	err := s.noteDay(d, Taken{Digest: read.digest, Records: read.lines.Table.Rows(), Problems: problems})
	if len(problems) > 0 {
		if canonical, bad := p.Canonical(); bad == nil {
			err = errors.Join(err, s.studies.of(study.HashOf(canonical)).write(fileOdd, []byte(strings.Join(problems, "; ")+"\n")))
		}
	}
	_ = err // what the disk did not take is not said: only an odd file would have it said
}

// noteDay keeps what was taken, once a day, of a source that is written anew.
func (s *state) noteDay(d Declaration, t Taken) error {
	t.Day = s.config.now().UTC().Format(time.DateOnly)
	if last := s.taken(d); d.Redeclare != RedeclareDaily || last != nil && last.Day == t.Day {
		return nil
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return protocol.WriteSecret(s.takenFile(d.Source), append(text, '\n'))
}

// taken is what was noted last; nil where nothing was.
func (s *state) taken(d Declaration) *Taken {
	var t Taken
	b, err := os.ReadFile(s.takenFile(d.Source))
	if d.Redeclare != RedeclareDaily || err != nil || json.Unmarshal(b, &t) != nil {
		return nil
	}
	return &t
}

// takenFile does not end as a declaration's does, so no source's name makes it
// another's.
func (s *state) takenFile(name string) string {
	return filepath.Join(s.sources, url.PathEscape(name)+".taken")
}
