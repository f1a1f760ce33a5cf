package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"caucus/study"
	"caucus/study/classifier"
)

// forecastCase is a plan at an ε, said and true, means over its deals.
type forecastCase struct {
	set, half string
	measured  map[string]float64
	said      map[string]map[string]float64 // by what was given
	helps     map[string]study.Helps        // the same
	true      bool
	close     bool // within a point of the other answer
}

// forecastRelease is one release: what was said of a number and what it came to.
type forecastRelease struct {
	set, half      string
	many           bool // more than two classes
	helps          study.Helps
	low, mid, high float64
	measured       float64
}

// forecastRows are what was said and what was measured, by plan, ε and what was given.
type forecastRows struct {
	order       []string
	truth, said map[string][]map[string]string
	clear       map[string]map[string]string // by plan and deal
}

func forecastRowsOf(r *results) forecastRows {
	f := forecastRows{truth: map[string][]map[string]string{}, said: map[string][]map[string]string{}, clear: map[string]map[string]string{}}
	for _, row := range r.rows {
		at := row["plan"] + " " + row["epsilon"]
		switch {
		case row["unperturbed"] != "":
			f.clear[row["plan"]+row["deal"]] = row
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

// forecastNumbers are what is forecast and measured.
var forecastNumbers = []string{"released", "released_auc", "pooled", "pooled_auc", "alone", "alone_auc"}

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
		var without []map[string]string
		for _, row := range rows {
			without = append(without, f.clear[row["plan"]+row["deal"]])
		}
		c := forecastCase{set: rows[0]["set"], half: rows[0]["half"], said: map[string]map[string]float64{}, measured: map[string]float64{}, helps: map[string]study.Helps{}}
		for _, name := range forecastNumbers {
			c.measured[name] = mean(rows, name)
		}
		majority := mean(rows, "majority")
		judge := func(accuracy, _ float64) float64 { return accuracy - majority }
		if c.measured["pooled"]-majority < study.LeastGap {
			judge = func(_, auc float64) float64 { return auc - .5 }
		}
		had := judge(mean(without, "unperturbed"), mean(without, "unperturbed_auc"))
		has, alone := judge(c.measured["released"], c.measured["released_auc"]), judge(c.measured["alone"], c.measured["alone_auc"])
		c.true = had >= study.LeastGap && has >= had/4 && has >= alone
		c.close = math.Abs(min(has-had/4, has-alone)) < .01
		for _, given := range forecastGiven {
			said := f.said[at+given]
			c.helps[given], c.said[given] = study.Helps(said[0]["helps"]), map[string]float64{}
			for _, name := range forecastNumbers {
				c.said[given][name] = mean(said, "f_"+name)
			}
		}
		out = append(out, c)
	}
	return out
}

// releases are what was said of one number of each release, without the law's own error.
func (f forecastRows) releases(given, name string) (out []forecastRelease) {
	for _, at := range f.order {
		for _, truth := range f.truth[at] {
			if len(f.said[at+given]) == 0 {
				break
			}
			said := f.said[at+given][0]
			number := func(row map[string]string, column string) float64 {
				v, _ := strconv.ParseFloat(row[column], 64)
				return v
			}
			classes := int(number(said, "classes"))
			out = append(out, forecastRelease{
				set: truth["set"], half: truth["half"], many: classes > 2, helps: study.Helps(said["helps"]), mid: number(said, "f_"+name), measured: number(truth, name),
				low: number(said, "f_"+name+"_low") + classifier.LawError, high: number(said, "f_"+name+"_high") - classifier.LawError,
			})
		}
	}
	return out
}

// scatter is how far each release is from the mean of its plan's: as far as from the mean of
// very many, on average, since it is in the mean itself.
func (f forecastRows) scatter(name string) (out []float64) {
	for _, at := range f.order {
		rows := f.truth[at]
		n := float64(len(rows))
		if n < 2 {
			continue
		}
		mean := (&results{rows: rows}).over(name).Mean
		for _, row := range rows {
			v, _ := strconv.ParseFloat(row[name], 64)
			out = append(out, math.Abs(v-mean)*math.Sqrt(n/(n-1)))
		}
	}
	return out
}

// covered is the share of releases that lie in their intervals, with so much either side.
func covered(of []forecastRelease, off float64) float64 {
	in := 0.
	for _, r := range of {
		if r.low-off <= r.measured+1e-9 && r.measured <= r.high+off+1e-9 {
			in++
		}
	}
	return in / float64(max(len(of), 1))
}

// width is half of how wide intervals are on average.
func width(of []forecastRelease, off float64) float64 {
	sum := 0.
	for _, r := range of {
		sum += (r.high-r.low)/2 + off
	}
	return sum / float64(max(len(of), 1))
}

// least is the least that has to be added for nine of ten, mean over sets, to be covered.
func leastOff(of []forecastRelease, sets []string) float64 {
	for off := 0.; off < .5; off += .005 {
		total := 0.
		for _, s := range sets {
			total += covered(ofSet(of, s), off) / float64(len(sets))
		}
		if total >= .9 {
			return off
		}
	}
	return .5
}

func ofSet(of []forecastRelease, set string) (out []forecastRelease) {
	for _, r := range of {
		if r.set == set {
			out = append(out, r)
		}
	}
	return out
}

func forecastReport(_ *lab, r *results, p *page) error {
	rows := forecastRowsOf(r)
	cases := rows.cases()
	p.paragraph("%d plans (a set, a mechanism, parties, records, components and ε), each simulated with %d deals. A release *works* if it keeps a quarter of what the one without noise has over the largest class and is no worse than one party alone (by accuracy; by AUC where pooled records beat the largest class by less than a point). *Close*: within a point of the other answer.", len(cases), forecastDeals)
	titles := map[string]string{
		"shares": "Given the classes' shares alone: a band of AUCs from .65 to .85",
		"auc":    "Given the classes' shares and the AUC that a classifier of the set's other records reaches",
		"all":    "Given also how many records it was trained on and, of more than two classes, its accuracy",
	}
	for _, given := range []string{"all", "auc", "shares"} {
		p.section(titles[given])
		var table [][]string
		for _, group := range forecastGroups(cases) {
			var said, wrong, close [3]int // yes, no, perhaps
			for _, c := range group.cases {
				at, off := 2, c.true
				switch c.helps[given] {
				case study.HelpsYes:
					at, off = 0, !c.true
				case study.HelpsNo:
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
				return fmt.Sprintf("%d of %d (%.0f %%), %d close", wrong[at], said[at], 100*float64(wrong[at])/float64(said[at]), close[at])
			}
			table = append(table, []string{group.name, part(0), part(1), fmt.Sprintf("%d of %d", wrong[2], said[2])})
		}
		p.table([]string{"data", "said to help, does not", "said not to, works", "said perhaps: works"}, table)
	}
	p.section("How far off")
	p.paragraph("Each cell: mean of forecast less measured; mean of how far off it is; share of plans within .02. Means over the deals of a plan, and, *alone*, over its parties.")
	for _, given := range []string{"all", "auc"} {
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
		p.table([]string{"data", "plans", "released", "released, AUC", "pooled", "pooled, AUC", "alone", "alone, AUC"}, table)
	}
	forecastIntervals(rows, p)
	return nil
}

// forecastIntervals is how often single releases lie in their intervals.
func forecastIntervals(rows forecastRows, p *page) {
	p.section("How often a release lies in its interval")
	p.paragraph("Each release on its own. *Held out*: with as much added for what the law leaves out as nine of ten releases of the other sets need, mean over sets. *As printed*: with what forecasts add. In brackets half of the interval's mean width. Given the AUC, and all that is published.")
	kinds := [][2]string{{"auc", "released"}, {"auc", "released_auc"}, {"all", "released"}, {"all", "released_auc"}}
	var table [][]string
	all := map[[2]string][]forecastRelease{}
	for _, name := range kinds {
		all[name] = rows.releases(name[0], name[1])
	}
	total := make([]float64, 2*len(kinds))
	sets := 0.
	for _, s := range forecastSets {
		row := []string{s.Name}
		if len(ofSet(all[kinds[0]], s.Name)) == 0 {
			continue
		}
		sets++
		for k, name := range kinds {
			here := ofSet(all[name], s.Name)
			var others []string
			for _, o := range forecastSets {
				if there := ofSet(all[name], o.Name); o.Name != s.Name && len(there) > 0 {
					others = append(others, o.Name)
				}
			}
			for i, off := range []float64{leastOff(all[name], others), classifier.LawError} {
				row = append(row, fmt.Sprintf("%.0f %% (%.3f)", 100*covered(here, off), width(here, off)))
				total[2*k+i] += covered(here, off)
			}
		}
		table = append(table, row)
	}
	mean := []string{"**mean**"}
	for _, v := range total {
		mean = append(mean, fmt.Sprintf("%.0f %%", 100*v/sets))
	}
	p.table([]string{"data", "AUC: released, held out", "as printed", "its AUC, held out", "as printed", "all: released, held out", "as printed", "its AUC, held out", "as printed"}, append(table, mean))

	p.section("Of those that anybody would begin")
	p.paragraph("By what the forecast says of the plan, given all that is published: half of the interval around a release's accuracy, how many are no wider than .03 either way, how many releases lie inside, and how many lie within .03 of the forecast.")
	table = nil
	of := all[[2]string{"all", "released"}]
	begun := func(r forecastRelease) bool { return !r.many && r.helps != study.HelpsNo }
	for _, group := range []struct {
		name string
		has  func(forecastRelease) bool
	}{
		{"yes", func(r forecastRelease) bool { return r.helps == study.HelpsYes }},
		{"perhaps", func(r forecastRelease) bool { return r.helps == study.HelpsDepends }},
		{"yes or perhaps, two classes", begun},
		{"first half of those", func(r forecastRelease) bool { return begun(r) && r.half == forecastHalfNames[0] }},
		{"second half of those", func(r forecastRelease) bool { return begun(r) && r.half == forecastHalfNames[1] }},
		{"no", func(r forecastRelease) bool { return r.helps == study.HelpsNo }},
	} {
		var halves []float64
		narrow, in, near := 0., 0., 0.
		for _, r := range of {
			if !group.has(r) {
				continue
			}
			half := (r.high-r.low)/2 + classifier.LawError
			halves = append(halves, half)
			if half <= .03+1e-9 {
				narrow++
			}
			in += covered([]forecastRelease{r}, classifier.LawError)
			if math.Abs(r.mid-r.measured) <= .03+1e-9 {
				near++
			}
		}
		if n := float64(len(halves)); n > 0 {
			slices.Sort(halves)
			table = append(table, []string{group.name, fmt.Sprint(len(halves)), fmt.Sprintf("%.3f", floats.Sum(halves)/n), fmt.Sprintf("%.3f", halves[len(halves)/2]), fmt.Sprintf("%.0f %%", 100*narrow/n), fmt.Sprintf("%.0f %%", 100*in/n), fmt.Sprintf("%.0f %%", 100*near/n)})
		}
	}
	p.table([]string{"said", "releases", "half-width, mean", "median", "no wider than .03", "covered", "within .03 of the forecast"}, table)

	p.section("What a narrower interval would cover")
	p.paragraph("*Own mean*: if the mean of each plan's releases were known, which no law can know better: how many releases lie so near to it, from the scatter of a plan's deals. Given all that is published.")
	table = nil
	scatter := rows.scatter("released")
	for _, most := range []float64{.02, .03, .05, .08, .12, .2} {
		in, printed, already := 0., 0., 0.
		for _, r := range of {
			if math.Abs(r.mid-r.measured) <= most+1e-9 {
				in++
			}
			if (r.high-r.low)/2+classifier.LawError <= most+1e-9 {
				already++
				printed += covered([]forecastRelease{r}, classifier.LawError)
			}
		}
		n := float64(len(of))
		near := 0.
		for _, off := range scatter {
			if off <= most {
				near++
			}
		}
		table = append(table, []string{fmt.Sprintf("%.2f", most), fmt.Sprintf("%.0f %%", 100*near/float64(max(len(scatter), 1))), fmt.Sprintf("%.0f %%", 100*in/n), fmt.Sprintf("%.0f %%", 100*already/n), fmt.Sprintf("%.0f %%", 100*printed/max(already, 1))})
	}
	p.table([]string{"half-width", "released within so much of the plan's own mean", "released within so much of the forecast", "releases whose interval is no wider", "of those, covered"}, table)
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
