package main

import (
	"fmt"
	"math"
	"strconv"

	"caucus/study/stated"
)

// forecastCase is a plan at an ε, said and true, means over its deals.
type forecastCase struct {
	set, half string
	measured  map[string]float64
	said      map[string]map[string]float64  // by what was given
	helps     map[string]stated.HelpsVerdict // the same
	true      bool
	close     bool // within a point of the other answer
}

// forecastRelease is one release: what was said of a number and what it came to.
type forecastRelease struct {
	helps                     stated.HelpsVerdict
	low, mean, high, measured float64
}

// forecastRows lists forecasts and measurements by plan, ε and given inputs.
type forecastRows struct {
	order       []string
	truth, said map[string][]map[string]string
}

func forecastRowsOf(r *results) forecastRows {
	f := forecastRows{truth: map[string][]map[string]string{},
		said: map[string][]map[string]string{}}
	for _, row := range r.rows {
		at := row["plan"] + " " + row["epsilon"]
		switch {
		case row["given"] != "":
			f.said[at+row["given"]] = append(f.said[at+row["given"]], row)
		default:
			if f.truth[at] == nil {
				f.order = append(f.order, at)
			}
			f.truth[at] = append(f.truth[at], row)
		}
	}
	return f
}

var forecastNumbers = []string{"released", "released_auc", "pooled", "pooled_auc", "alone",
	"alone_auc"}

// cases are plans at an ε.
func (f forecastRows) cases() (out []forecastCase) {
	mean := func(rows []map[string]string, column string) float64 {
		return (&results{rows: rows}).over(column).Mean
	}
	for _, at := range f.order {
		rows := f.truth[at]
		if len(f.said[at+forecastGiven[0]]) == 0 {
			continue
		}
		c := forecastCase{set: rows[0]["set"], half: rows[0]["half"],
			said: map[string]map[string]float64{}, measured: map[string]float64{},
			helps: map[string]stated.HelpsVerdict{}}
		for _, name := range forecastNumbers {
			c.measured[name] = mean(rows, name)
		}
		majority := mean(rows, "majority")
		judge := func(accuracy, _ float64) float64 { return accuracy - majority }
		if c.measured["pooled"]-majority < stated.MinGain {
			judge = func(_, auc float64) float64 { return auc - .5 }
		}
		had := judge(c.measured["pooled"], c.measured["pooled_auc"])
		has, alone := judge(c.measured["released"],
			c.measured["released_auc"]), judge(c.measured["alone"], c.measured["alone_auc"])
		c.true = has >= had/4 && has >= alone
		c.close = math.Abs(min(has-had/4, has-alone)) < .01
		for _, given := range forecastGiven {
			said := f.said[at+given]
			c.helps[given], c.said[given] = stated.HelpsVerdict(said[0]["helps"]), map[string]float64{}
			for _, name := range forecastNumbers {
				c.said[given][name] = mean(said, "f_"+name)
			}
		}
		out = append(out, c)
	}
	return out
}

// releases are what was said of one number of each release.
func (f forecastRows) releases(given, name string) (out []forecastRelease) {
	for _, at := range f.order {
		if len(f.said[at+given]) == 0 {
			continue
		}
		said := f.said[at+given][0]
		number := func(row map[string]string, column string) float64 {
			v, _ := strconv.ParseFloat(row[column], 64)
			return v
		}
		for _, truth := range f.truth[at] {
			out = append(out, forecastRelease{
				helps: stated.HelpsVerdict(said["helps"]), mean: number(said, "f_"+name), measured: number(truth, name),
				low: number(said, "f_"+name+"_low"), high: number(said, "f_"+name+"_high"),
			})
		}
	}
	return out
}

func forecastReport(_ *lab, r *results, p *page) error {
	rows := forecastRowsOf(r)
	cases := rows.cases()
	p.paragraph("%d plans (a set, a mechanism, parties, records, components and ε), each simulated with %d deals. A release *works* if it keeps a quarter of what all records pooled have over the largest class and is no worse than one party alone (by accuracy; by AUC where pooled records beat the largest class by less than a point). *Close*: within a point of the other answer.", len(cases), forecastDeals)
	titles := map[string]string{
		"shares": "Given the classes' shares alone: a band of AUCs from .65 to .85",
		"auc":    "Given the classes' shares and the AUC that a classifier of the set's other records reaches",
	}
	for _, given := range []string{"auc", "shares"} {
		p.section(titles[given])
		var table [][]string
		for _, group := range forecastGroups(cases) {
			var said, wrong, close [3]int // yes, no, perhaps
			for _, c := range group.cases {
				at, off := 2, c.true
				switch c.helps[given] {
				case stated.Yes:
					at, off = 0, !c.true
				case stated.No:
					at = 1
				}
				said[at]++
				if off {
					wrong[at]++
					if c.close {
						close[at]++
					}
				}
			}
			part := func(at int) string {
				if said[at] == 0 {
					return "0 of 0"
				}
				return fmt.Sprintf("%d of %d (%.0f %%), %d close", wrong[at], said[at],
					100*float64(wrong[at])/float64(said[at]), close[at])
			}
			table = append(table,
				[]string{group.name, part(0), part(1), fmt.Sprintf("%d of %d", wrong[2], said[2])})
		}
		p.table([]string{"data", "said to help, does not", "said not to, works",
			"said perhaps: works"}, table)
	}
	p.section("How far off")
	p.paragraph("Each cell: mean of forecast less measured; mean of how far off it is; share of plans within .02. Means over the deals of a plan, and, *alone*, over its parties.")
	for _, given := range []string{"auc"} {
		p.paragraph("%s.", titles[given])
		var table [][]string
		for _, group := range forecastGroups(cases) {
			row := []string{group.name, fmt.Sprint(len(group.cases))}
			for _, name := range forecastNumbers {
				off, far, within := 0., 0., 0.
				for _, c := range group.cases {
					d := c.said[given][name] - c.measured[name]
					off += d
					far += math.Abs(d)
					if math.Abs(d) <= .02 {
						within++
					}
				}
				n := float64(len(group.cases))
				row = append(row, fmt.Sprintf("%+.3f; %.3f; %.0f %%", off/n, far/n, 100*within/n))
			}
			table = append(table, row)
		}
		p.table([]string{"data", "plans", "released", "released, AUC", "pooled", "pooled, AUC",
			"alone", "alone, AUC"}, table)
	}
	p.section("How often a release lies in its interval")
	p.paragraph("Each release on its own, given the AUC: half of the width of what nine of ten draws lie between, how many releases lie inside, and how many within .03 of the forecast.")
	var table [][]string
	for _, name := range []string{"released", "released_auc"} {
		of := rows.releases("auc", name)
		for _, helps := range []stated.HelpsVerdict{stated.Yes, stated.Perhaps, stated.No} {
			n, width, in, near := 0., 0., 0., 0.
			for _, r := range of {
				if r.helps != helps {
					continue
				}
				n++
				width += (r.high - r.low) / 2
				if r.low <= r.measured && r.measured <= r.high {
					in++
				}
				if math.Abs(r.mean-r.measured) <= .03 {
					near++
				}
			}
			if n > 0 {
				table = append(table,
					[]string{name, string(helps), fmt.Sprint(n), fmt.Sprintf("%.3f", width/n),
						fmt.Sprintf("%.0f %%", 100*in/n), fmt.Sprintf("%.0f %%", 100*near/n)})
			}
		}
	}
	p.table([]string{"number", "said", "releases", "half-width, mean", "inside",
		"within .03 of the forecast"}, table)
	return nil
}

// forecastGroup is cases that are counted together.
type forecastGroup struct {
	name  string
	cases []forecastCase
}

// forecastGroups are the sets, all of them, and each half of all.
func forecastGroups(cases []forecastCase) (out []forecastGroup) {
	add := func(name string, has func(forecastCase) bool) {
		g := forecastGroup{name: name}
		for _, c := range cases {
			if has(c) {
				g.cases = append(g.cases, c)
			}
		}
		if len(g.cases) > 0 { // a quick run has one set and one half
			out = append(out, g)
		}
	}
	for _, s := range forecastSets {
		add(s.Name, func(c forecastCase) bool { return c.set == s.Name })
	}
	add("**all**", func(forecastCase) bool { return true })
	for _, half := range forecastHalfNames {
		add(half+" half", func(c forecastCase) bool { return c.half == half })
	}
	return out
}
