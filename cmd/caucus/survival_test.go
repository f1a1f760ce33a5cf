package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"caucus/study/survival/lifetable"
)

// stays counts the records of a clean export, by sex, interval of days and readmission: the events
// of an interval and who was last seen in it. The last pair counts who was seen beyond.
type stays map[string][][2]int

var stayEdges = []float64{4, 8, 12, 16, 20}

func (s stays) add(ts *testscript.TestScript, file string) (rest int) {
	all, err := csv.NewReader(strings.NewReader(ts.ReadFile(file))).ReadAll()
	ts.Check(err)
	at := map[string]int{}
	for k, name := range all[0] {
		at[name] = k
	}
	for _, row := range all[1:] {
		sex, outcome := row[at["sex"]], row[at["readmitted"]]
		days, err := strconv.ParseFloat(row[at["days"]], 64)
		if err != nil || sex != "female" && sex != "male" || outcome != "no" && outcome != "yes" {
			rest++
			continue
		}
		if s[sex] == nil {
			s[sex] = make([][2]int, len(stayEdges)+1)
		}
		bin := 0
		for bin < len(stayEdges) && days >= stayEdges[bin] {
			bin++
		}
		s[sex][bin][map[string]int{"yes": 0, "no": 1}[outcome]]++
	}
	return rest
}

// staysCommand compares a survival study with a table by hand. "stays PREVIEW CLEAN" demands that
// a preview shows exactly the counts of the clean file. "stays RELEASE CLEAN CLEAN..." demands that
// released curves lie within 10 standard deviations of their noise from the life table of all: a
// sum of five sites' Laplace noise is further off with probability below 1e-10.
func staysCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: stays PREVIEW CLEAN | stays RELEASE CLEAN CLEAN...")
	}
	counted, rest := stays{}, 0
	for _, file := range args[1:] {
		rest += counted.add(ts, file)
	}
	told := ts.ReadFile(args[0])
	if len(args) == 2 {
		want := []string{fmt.Sprintf("in no curve: %d", rest)}
		for sex, bins := range counted {
			line, from := sex+":", 0.
			for j, edge := range stayEdges {
				line += fmt.Sprintf(" %g to %g: %d with the event, %d last seen;", from, edge,
					bins[j][0], bins[j][1])
				from = edge
			}
			last := bins[len(bins)-1]
			want = append(want, fmt.Sprintf("%s %d beyond", line, last[0]+last[1]))
		}
		for _, line := range want {
			if !strings.Contains(told, line) {
				ts.Fatalf("%s does not show %q:\n%s", args[0], line, told)
			}
		}
		return
	}
	released := bodyOf[lifetable.Table](ts, args[0])
	if len(released.Groups) != len(counted) {
		ts.Fatalf("%s has %d groups, by hand %d", args[0], len(released.Groups), len(counted))
	}
	for _, g := range released.Groups {
		bins, s, n := counted[g.Level], 1., 0
		for _, b := range bins {
			n += b[0] + b[1]
		}
		if len(g.Points) == 0 {
			ts.Fatalf("%s has no curve", g.Level)
		}
		for j, p := range g.Points {
			d, c := bins[j][0], bins[j][1]
			if sd := released.NoiseSD * math.Sqrt(float64(2*len(bins)-1-2*j)); math.Abs(
				p.AtRisk-float64(n)) > 10*sd {
				ts.Fatalf("%s: %g at risk at interval %d, by hand %d ± %g", g.Level, p.AtRisk, j, n, sd)
			}
			s *= 1 - float64(d)/(float64(n)-float64(c)/2)
			n -= d + c
			if off := math.Abs(p.Survival.Value - s); off > 10*p.Survival.NoiseSD {
				ts.Fatalf("%s at %g: %g, by hand %g, noise %g", g.Level, p.Time, p.Survival.Value, s,
					p.Survival.NoiseSD)
			}
		}
	}
}
