package main

import (
	"encoding/json"
	"fmt"

	"caucus/learners"
	"caucus/study"
	"caucus/study/kinds"
)

// policyLines are the lines that a site's policy needs at least, under policy: in its agent.yaml,
// for a plan to be allowed. They are for people to paste or to compare; the helper's code and
// raised bounds on size are left to the site.
func policyLines(p study.Plan) []string {
	words := kinds.Explain(p)
	budget := fmt.Sprintf("{%s: {epsilon: %g, delta: %g}}", p.Unit, p.Epsilon, p.Delta)
	lines := []string{
		"kinds: [" + p.Kind + "]", "mechanisms: [" + p.Mechanism + "]",
		fmt.Sprintf("noise: [%s]", p.Noise), "study: " + budget,
		"total: " + budget + "   # for all studies together: more, for more than this one",
		fmt.Sprintf("minimum_parties: %d   # or less, at least 2", p.LeastParties()),
	}
	if words.Learner != "" && words.Learner != learners.DefaultLearner {
		lines = append(lines, "learners: ["+words.Learner+"]")
	}
	if len(words.InClear) > 0 {
		columns, _ := json.Marshal(words.InClear) // texts always encode
		lines = append(lines, "clear_columns: "+string(columns))
	}
	if words.ShownByName {
		lines = append(lines, "named_results: true")
	}
	if p.Noise.Shared() {
		lines = append(lines, "helper: {name: WHO RUNS IT, code: CODE}   # caucus helper keys, there")
	}
	if p.Epsilon < .05 { // the usual least
		lines = append(lines, fmt.Sprintf("least_epsilon: %g", p.Epsilon))
	}
	return lines
}
