package health

import (
	"slices"

	"caucus/agent/site"
	"caucus/internal/textpage"
	"caucus/learners"
	"caucus/learners/command"
)

// checkScorer says whether what scores this site's records can be run.
func checkScorer(c site.Config) []Result {
	const about = "scorer"
	if !c.Scorer.Brought() {
		return nil
	}
	if err := c.Scorer.Check(); err != nil {
		return []Result{problem(about, "%v: correct scorer: command:", err)}
	}
	if !slices.Contains(c.Policy.MayTrain(), learners.Any) {
		return []Result{warning(about, "%s, but no study will use it: the policy allows learners %s; studies that let a site choose are named any", c.Scorer, textpage.List(c.Policy.MayTrain()))}
	}
	if !command.LimitsMemory {
		return []Result{warning(about, "%s; how much memory it takes is not limited on this system", c.Scorer)}
	}
	return []Result{fine(about, "%s", c.Scorer)}
}

// checkLearner says whether what this site votes with can be run.
func checkLearner(c site.Config) []Result {
	const about = "learner"
	l := c.Learner
	if !l.Brought() && l.Name == "" {
		return nil
	}
	if l.Brought() {
		if err := l.Check(); err != nil {
			return []Result{problem(about, "%v: correct learner: command:", err)}
		}
	}
	switch {
	case !slices.Contains(c.Policy.MayTrain(), learners.Any):
		return []Result{warning(about, "%s, but no study will use it: the policy allows learners %s; studies that let a site choose are named any", l, textpage.List(c.Policy.MayTrain()))}
	case l.Brought() && !command.LimitsMemory:
		return []Result{warning(about, "%s; how much memory it takes is not limited on this system", l)}
	}
	return []Result{fine(about, "%s", l)}
}
