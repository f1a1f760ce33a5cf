package main

import (
	"fmt"
	"io"
	"strconv"

	"caucus/cmd/internal/console"
	"caucus/study/labels/learned"
)

var labelMechanisms = map[string]string{"em": "em (exponential mechanism)",
	"rr": "rr (randomised response)"}

// writeLabelGuide writes how much the noisy labels of a labels study are worth. rr is randomised
// response. em is the published exponential mechanism, which equals rr at ε/2 and so spends only
// ε/2.
func writeLabelGuide(w io.Writer, g learned.LabelGuide) {
	fmt.Fprintf(w, "%d labels of %d classes at ε = %g\n", g.Labels, g.Classes, g.Epsilon)
	for _, m := range g.Mechanisms {
		fmt.Fprintf(w, "  %s: a label stays unchanged with probability %.3f; cost ε = %.4g; at least half of the labels stay unchanged with probability %.3f; standard error of a class's share %.3f\n",
			labelMechanisms[m.Mechanism], m.Keep, m.SpentEpsilon, m.MajorityKept, m.ShareError)
	}
	fmt.Fprintln(w, "\nnumber of labels needed (the smallest odd one) for at least half of them to stay unchanged with a probability of 95 %, 99 % or 99.9 %")
	header := []string{"mechanism", "epsilon", "one stays unchanged"}
	for _, level := range learned.MajorityLevels() {
		header = append(header, fmt.Sprintf("%g %%", 100*level))
	}
	t := console.NewTable(w, header...)
	for _, row := range g.Table {
		cells := []string{row.Mechanism, fmt.Sprint(row.Epsilon), fmt.Sprintf("%.3f", row.Keep)}
		for _, n := range row.Labels {
			if n == 0 {
				cells = append(cells, "never")
			} else {
				cells = append(cells, strconv.Itoa(n))
			}
		}
		t.Add(cells...)
	}
	t.Render()
}
