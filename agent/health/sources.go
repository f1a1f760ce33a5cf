package health

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"caucus/agent/source"
	"caucus/internal/textpage"
)

// CheckSources looks at all sources; without read, not into their files.
func CheckSources(s source.Sources, read bool) []Result {
	names := slices.Sorted(maps.Keys(s.Named))
	if len(names) == 0 {
		return []Result{warning("sources", "there are none: name files of records under data:")}
	}
	var all []Result
	for _, name := range names {
		var r source.Report
		if read {
			r = s.Check(name)
		} else if r = s.Report(name); r.Declared != nil {
			if _, err := os.Stat(r.File); err != nil {
				r.Problem = err.Error()
			}
		}
		all = append(all, checkSource(r), checkMapping(s, r))
	}
	return all
}

// checkSource says of a source what a person has to know first.
func checkSource(r source.Report) Result {
	about := "source " + r.Source
	switch {
	case r.Declared == nil && r.Problem != "":
		const most = 3 // remarks; declare shows all
		return problem(about, "%s", strings.Join(append([]string{r.Problem}, r.Remarks[:min(most, len(r.Remarks))]...), "; "))
	case r.Declared == nil:
		return problem(about, "studies of it wait: %s", strings.TrimPrefix(r.Waits, source.ErrUndeclared.Error()+": source "+r.Source+": "))
	case r.Problem != "":
		return problem(about, "%s; see caucus agent check --source %s", r.Problem, r.Source)
	case !r.Read:
		return fine(about, "declared with %s", textpage.Count(r.Declared.Records, "record"))
	case r.Found < r.Declared.Records:
		return warning(about, "declared with %s, the file has %d: the others are empty; declare it again if that stays so", textpage.Count(r.Declared.Records, "record"), r.Found)
	}
	now := "as it was then"
	if r.Changed && r.Declared.Redeclare != source.RedeclareDaily {
		return warning(about, "the file changed since it was declared on %s with %s: declare it again, or write redeclare: daily where it is written anew", r.Declared.At.Format(time.DateOnly), textpage.Count(r.Declared.Records, "record"))
	}
	if r.Changed {
		now = "written anew since"
	}
	return fine(about, "declared with %s on %s, %s: %s, %s", textpage.Count(r.Declared.Records, "record"), r.Declared.At.Format(time.DateOnly), now, textpage.Count(r.Found, "record"), textpage.Count(len(r.Remarks), "remark"))
}

// checkMapping says whether a source's mapping makes all columns of its schema out of the
// file's.
func checkMapping(s source.Sources, r source.Report) Result {
	about := "mapping " + r.Source
	says, err := s.CheckMapping(r)
	if err != nil {
		return problem(about, "%v", err)
	}
	return fine(about, "%s", says)
}
