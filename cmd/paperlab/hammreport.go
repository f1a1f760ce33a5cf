package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"caucus/privacy"
)

// within is how near to the vote without noise counts as reached: one point.
const within = 0.01

// Methods that figures show: at most eight, so that colours differ.
var (
	partyCurves  = []string{"tally", "means", "moment", "output-paper, oracle λ", "majority", "average", "PATE", "DP-FedAvg, oracle rounds and clip"}
	recordCurves = []string{"cross", "cross, noise added once", "cross, pure ε", "tally on shards, noise added once", "output-paper on shards, oracle λ", "DP-FedAvg at sites, oracle rounds", "DP-SGD pooled, oracle epochs", "output perturbation pooled, oracle λ"}
)

// references have no ε of their own; Pathak has a table of its own, because its
// guarantee was never meant for a party.
var hammReferences = []string{"unperturbed", "unperturbed shards", "pooled", "one party alone", "majority class"}

const pathakMethod = "Pathak et al., oracle λ"

func hammReport(_ *lab, r *results, p *page) error {
	hammRules(p)
	party, record := r.where("unit", privacy.Party), r.where("unit", privacy.Record)
	if len(party.rows) > 0 {
		hammHeadline(p, party)
	}
	if len(record.rows) > 0 {
		hammRecordHeadline(p, record)
	}
	if err := theoryReport(p, r); err != nil {
		return err
	}
	if len(party.rows) > 0 {
		p.section("Party level, everything measured")
		if err := accuracyTables(p, party, partyCurves, "parties"); err != nil {
			return err
		}
	}
	if len(record.rows) > 0 {
		p.section("Record level, everything measured")
		return accuracyTables(p, record, recordCurves, "sites")
	}
	return nil
}

func hammRules(p *page) {
	p.section("Rules")
	p.paragraph("Accuracy on test records, mean ± standard deviation over draws; a draw is a split into pool, parties and test records, trained votes and noise. δ = %g for every method with a δ; `moment`, `means, pure ε`, `cross, pure ε`, `output*`, `majority`, `average`, Pathak et al. and the perturbed solutions are pure ε.", hammDelta)
	p.paragraph("Caucus's mechanisms choose λ by `auto`, after the noise, from public things. **Oracle** methods are given their best setting on the test records, which nobody has: `output-paper` its λ of %v, DP-FedAvg its rounds and clip, DP-SGD its epochs, perturbed solutions their λ, PATE its noise (by how well its answers agree with the private votes). PATE's ε is data-dependent (Papernot et al. 2018, Theorem 6) and DP-SGD's promise is for adding or removing a record, where all others hide a replacement. Gradient rivals work in coordinates whitened by the public pool. All of this favours the rivals; at small ε an oracle also profits from luck, being the best of several noisy results.", oracleLambdas)
	p.paragraph("The methods' curves run from ε = %g to %g; `output-paper` was also measured at %v, to see when it arrives, and `tally` at the first of these.", hammEpsilons[0], hammEpsilons[len(hammEpsilons)-1], farEpsilons)
	p.paragraph("At record level each site has at most %d/sites shards, of %d records or more. *Noise added once* needs a trusted coordinator; otherwise every site adds its own.", shardsInAll, shardSize)
}

// methodsIn lists the methods with an ε, in order of appearance.
func methodsIn(r *results) []string {
	var out []string
	for _, m := range r.distinct("method") {
		if !slices.Contains(hammReferences, m) {
			out = append(out, m)
		}
	}
	return out
}

// needed is the least number (ε, or parties) from which on a rising curve stays
// at its goal, between measured points on a log scale. low and high say that it
// lies beyond what was measured.
type needed struct {
	At        float64
	Low, High bool
	Measured  bool
}

func neededFor(curve []point, goal func(x float64) float64) needed {
	if len(curve) == 0 {
		return needed{}
	}
	first := len(curve)
	for first > 0 && curve[first-1].Y >= goal(curve[first-1].X) {
		first--
	}
	switch first {
	case len(curve):
		return needed{At: curve[first-1].X, High: true, Measured: true}
	case 0:
		return needed{At: curve[0].X, Low: true, Measured: true}
	}
	a, b := curve[first-1], curve[first]
	short, over := goal(a.X)-a.Y, b.Y-goal(b.X)
	t := short / (short + over)
	return needed{At: a.X * math.Pow(b.X/a.X, t), Measured: true}
}

func (n needed) String() string {
	s := strconv.FormatFloat(n.At, 'g', 2, 64)
	if n.At >= 10 {
		s = strconv.FormatFloat(n.At, 'f', 0, 64)
	}
	switch {
	case !n.Measured:
		return ""
	case n.High:
		return "> " + s
	case n.Low:
		return "≤ " + s
	}
	return s
}

// hammHeadline: the ε each method needs, and the parties each needs at ε = 1.
func hammHeadline(p *page, r *results) {
	p.section("Party level: the ε each needs to come within 1 point of the vote without noise")
	type place struct {
		set, parties, partition string
		rows                    *results
	}
	var places []place
	header := []string{"method"}
	for _, set := range r.distinct("set") {
		s := r.where("set", set)
		for _, m := range s.numbers("parties") {
			for _, partition := range s.where("parties", m).distinct("partition") {
				at := s.where("parties", m, "partition", partition)
				if len(at.numbers("epsilon")) < 2 {
					continue
				}
				places = append(places, place{set, cell(m), partition, at})
				name := fmt.Sprintf("%s, M = %s", set, cell(m))
				if partition == "natural" {
					name += " (natural)"
				}
				header = append(header, name)
			}
		}
	}
	need := func(at *results, method string) needed {
		goal := at.where("method", "unperturbed").over("accuracy").Mean - within
		return neededFor(curveOf(method, at.where("method", method), "epsilon", "accuracy").Points, func(float64) float64 { return goal })
	}
	var rows [][]string
	for _, m := range methodsIn(r) {
		line := []string{m}
		for _, q := range places {
			line = append(line, need(q.rows, m).String())
		}
		rows = append(rows, line)
	}
	for _, ref := range []string{"unperturbed", "pooled", "one party alone", "majority class"} {
		line := []string{"*" + ref + ", accuracy*"}
		for _, q := range places {
			line = append(line, q.rows.where("method", ref).over("accuracy").String())
		}
		rows = append(rows, line)
	}
	p.table(header, rows)

	var verdicts []string
	for _, q := range places {
		ours, theirs := need(q.rows, "tally"), need(q.rows, "output-paper, oracle λ")
		if ours.High || !ours.Measured {
			continue
		}
		more := ""
		if theirs.High {
			more = "more than "
		}
		verdicts = append(verdicts, fmt.Sprintf("%s with %s parties %s%.0f times", q.set, q.parties, more, theirs.At/ours.At))
	}
	if len(verdicts) > 0 {
		p.paragraph("`output-paper` at its oracle λ needs, of `tally`'s ε: %s.", strings.Join(verdicts, "; "))
	}
	rivalVerdicts(p, r, []string{"means", "PATE", "DP-FedAvg, oracle rounds and clip", "average"}, "tally")
	rivalVerdicts(p, r, []string{"tally", "PATE", "DP-FedAvg, oracle rounds and clip", "average"}, "means")

	p.section("Party level: the parties each needs at ε = 1")
	p.paragraph("To come within 1 point of the vote without noise of as many parties.")
	header = append([]string{"method"}, r.distinct("set")...)
	rows = nil
	for _, m := range methodsIn(r) {
		line := []string{m}
		for _, set := range r.distinct("set") {
			s := r.where("set", set, "partition", "random")
			goal := func(x float64) float64 {
				return s.where("parties", x, "method", "unperturbed").over("accuracy").Mean - within
			}
			line = append(line, neededFor(curveOf(m, s.where("method", m, "epsilon", 1.), "parties", "accuracy").Points, goal).String())
		}
		rows = append(rows, line)
	}
	p.table(header, rows)
	bytesTable(p, r)
}

// rivalVerdicts says where a rival is ahead, and by how much.
func rivalVerdicts(p *page, r *results, rivals []string, ours string) {
	var rows [][]string
	for _, set := range r.distinct("set") {
		s := r.where("set", set)
		for _, m := range s.numbers("parties") {
			for _, partition := range s.where("parties", m).distinct("partition") {
				at := s.where("parties", m, "partition", partition)
				low, high := at.where("method", "majority class").over("accuracy").Mean, at.where("method", "unperturbed").over("accuracy").Mean
				for _, e := range at.numbers("epsilon") {
					mine := at.where("method", ours, "epsilon", e).over("accuracy")
					for _, rival := range rivals {
						theirs := at.where("method", rival, "epsilon", e).over("accuracy")
						if theirs.N > 0 && mine.N > 0 && theirs.Mean > mine.Mean+within && theirs.Mean > (low+high)/2 {
							rows = append(rows, []string{set, cell(m), partition, cell(e), rival, fmt.Sprintf("%.4f", theirs.Mean), fmt.Sprintf("%.4f", mine.Mean), fmt.Sprintf("%+.3f", theirs.Mean-mine.Mean)})
						}
					}
				}
			}
		}
	}
	if len(rows) == 0 {
		p.paragraph("None of %s is useful and more than 1 point ahead of `%s` anywhere.", strings.Join(rivals, ", "), ours)
		return
	}
	p.paragraph("Where a rival is more than 1 point ahead of `%s`, and useful (at least half way from the majority class to the vote without noise):", ours)
	p.table([]string{"set", "parties", "partition", "ε", "rival", "its accuracy", ours, "gap"}, rows)
}

func bytesTable(p *page, r *results) {
	p.section("Bytes uploaded by each party")
	header := append([]string{"method"}, r.distinct("set")...)
	var rows [][]string
	for _, m := range methodsIn(r) {
		line := []string{m}
		some := false
		for _, set := range r.distinct("set") {
			b := r.where("set", set, "method", m).numbers("bytes")
			switch len(b) {
			case 0:
				line = append(line, "")
			case 1:
				line, some = append(line, cell(b[0])), true
			default:
				line, some = append(line, cell(b[0])+" – "+cell(b[len(b)-1])), true
			}
		}
		if some {
			rows = append(rows, line)
		}
	}
	p.table(header, rows)
}

func hammRecordHeadline(p *page, r *results) {
	p.section("Record level: the ε each needs to come within 1 point of the sites' vote without noise")
	header := []string{"method"}
	var places []*results
	for _, set := range r.distinct("set") {
		for _, sites := range r.where("set", set).numbers("parties") {
			for _, partition := range []string{"even", "skewed"} {
				at := r.where("set", set, "parties", sites, "partition", partition)
				if len(at.rows) == 0 {
					continue
				}
				places = append(places, at)
				header = append(header, fmt.Sprintf("%s, %s sites, %s", set, cell(sites), partition))
			}
		}
	}
	table := func(methods []string) {
		var rows [][]string
		for _, m := range methods {
			line := []string{m}
			for _, at := range places {
				goal := at.where("method", "unperturbed").over("accuracy").Mean - within
				line = append(line, neededFor(curveOf(m, at.where("method", m), "epsilon", "accuracy").Points, func(float64) float64 { return goal }).String())
			}
			rows = append(rows, line)
		}
		for _, ref := range hammReferences {
			line := []string{"*" + ref + ", accuracy*"}
			for _, at := range places {
				line = append(line, at.where("method", ref).over("accuracy").String())
			}
			rows = append(rows, line)
		}
		p.table(header, rows)
	}
	table(slices.DeleteFunc(methodsIn(r), func(m string) bool { return m == pathakMethod }))
	rivalVerdicts(p, r, []string{"DP-FedAvg at sites, oracle rounds"}, "cross")
	rivalVerdicts(p, r, []string{"DP-FedAvg, noise added once, oracle rounds", "DP-SGD pooled, oracle epochs", "output perturbation pooled, oracle λ", "objective perturbation pooled, oracle λ"}, "cross, noise added once")
	p.section("Record level: averages of the sites' solutions (Pathak et al.)")
	p.paragraph("Hides one record of the smallest site; says nothing about a party.")
	table([]string{pathakMethod})
}

// accuracyTables shows all means, with a figure for each set and number of
// parties.
func accuracyTables(p *page, r *results, curves []string, noun string) error {
	for _, set := range r.distinct("set") {
		for _, m := range r.where("set", set).numbers("parties") {
			for _, partition := range r.where("set", set, "parties", m).distinct("partition") {
				at := r.where("set", set, "parties", m, "partition", partition)
				epsilons := at.numbers("epsilon")
				title := fmt.Sprintf("%s, %s %s, %s", set, cell(m), noun, partition)
				p.paragraph("**%s** (%d draws)", title, len(at.distinct("draw")))
				header := []string{"method"}
				for _, e := range epsilons {
					header = append(header, "ε = "+cell(e))
				}
				var rows [][]string
				for _, method := range at.distinct("method") {
					line := []string{method}
					if slices.Contains(hammReferences, method) {
						line = append(line, at.where("method", method).over("accuracy").String())
						line = append(line, slices.Repeat([]string{""}, len(epsilons)-1)...)
					} else {
						for _, e := range epsilons {
							line = append(line, at.where("method", method, "epsilon", e).over("accuracy").String())
						}
					}
					rows = append(rows, line)
				}
				p.table(header, rows)
				if len(epsilons) < 2 {
					continue
				}
				f := figure{Title: title, X: "ε", Y: "accuracy", LogX: true}
				for _, method := range curves {
					if c := curveOf(method, at.where("method", method), "epsilon", "accuracy"); len(c.Points) > 0 {
						f.Curves = append(f.Curves, c)
					}
				}
				for _, ref := range []string{"unperturbed", "majority class"} {
					f.Lines = append(f.Lines, reference{ref, at.where("method", ref).over("accuracy").Mean})
				}
				name := fmt.Sprintf("%s-%s%s-%s", set, cell(m), noun, partition)
				if err := p.figure(name, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// quadratic is the excess risk below which the second order rules; the largest
// possible is of order log 2.
const quadratic = 0.1

func theoryReport(p *page, r *results) error {
	noise := r.where("part", "noise")
	if len(noise.rows) > 0 {
		p.section("Theorem 4: how excess risk falls")
		p.paragraph("Plain ridge %g, fixed; excess of the ridge-penalised vote risk on the pool over its minimum (`majority`: over its own minimum). Slopes of log excess by least squares where it is below %g.", theoryLambda, quadratic)
		f := figure{Title: "excess risk against εM", X: "ε·M", Y: "excess risk", LogX: true, LogY: true}
		var rows [][]string
		for _, m := range noise.distinct("method") {
			of := noise.where("method", m)
			c := curveOf(m, of, "product", "excess")
			f.Curves = append(f.Curves, c)
			both, n := slope(c.Points, quadratic)
			ratio, pairs := doubling(of)
			alone, _ := slope(centred(of), math.Inf(1))
			rows = append(rows, []string{m, fitted(both, n), fitted(alone, 2), fmt.Sprintf("%.2f (%d pairs)", ratio, pairs)})
		}
		p.table([]string{"mechanism", "slope in εM (theorem: −2; majority: none)", "slope in M at equal ε", "excess with more parties over excess with more ε, at equal εM"}, rows)
		if err := p.figure("theorem4", f); err != nil {
			return err
		}
	}
	if pool := r.where("part", "pool"); len(pool.rows) > 0 {
		c := curveOf("vote without noise", pool, "rows", "excess")
		s, n := slope(c.Points, math.Inf(1))
		p.paragraph("The pool's size: excess risk on rows that no fit saw, against N, has slope %.2f (%d sizes; the theorem's term is 1/N).", s, n)
		if err := p.figure("theorem4-pool", figure{Title: "excess risk against the pool's rows", X: "N", Y: "excess risk", LogX: true, LogY: true, Curves: []curve{c}}); err != nil {
			return err
		}
	}
	if skew := r.where("part", "skew"); len(skew.rows) > 0 {
		p.section("Skewed classes")
		p.paragraph("%s, 100 parties, classes dealt by a Dirichlet law; `tally` at ε = 3.", skew.distinct("set")[0])
		var rows [][]string
		for _, k := range skew.distinct("concentration") {
			at := skew.where("concentration", k)
			name := k
			if k == "0" {
				name = "evenly"
			}
			rows = append(rows, []string{name, at.where("method", "none").over("accuracy").String(), at.where("method", "tally").over("accuracy").String()})
		}
		p.table([]string{"concentration", "vote without noise", "tally"}, rows)
	}
	if shift := r.where("part", "shift"); len(shift.rows) > 0 {
		p.section("A shifted pool")
		p.paragraph("adult: the pool holds women only, parties and test records are men; ε = 1; `tally` at party level, `cross` at record level with noise at each site.")
		var rows [][]string
		for _, m := range shift.numbers("parties") {
			for _, method := range shift.where("parties", m).distinct("method") {
				rows = append(rows, []string{cell(m), method, shift.where("parties", m, "method", method).over("accuracy").String()})
			}
		}
		p.table([]string{"parties", "method", "accuracy"}, rows)
	}
	return nil
}

// fitted shows a slope, or that there was too little to fit.
func fitted(slope float64, points int) string {
	if points < 2 || math.IsNaN(slope) {
		return "too few points"
	}
	return fmt.Sprintf("%.2f", slope)
}

// centred pools the curves in M of all ε: log excess less its mean at that ε,
// so that one slope describes all.
func centred(r *results) []point {
	var out []point
	for _, e := range r.numbers("epsilon") {
		c := curveOf("", r.where("epsilon", e), "parties", "excess").Points
		mean := 0.0
		for _, q := range c {
			mean += math.Log(q.Y) / float64(len(c))
		}
		for _, q := range c {
			out = append(out, point{X: q.X, Y: q.Y / math.Exp(mean)})
		}
	}
	return out
}

// doubling is the geometric mean of excess(kM, ε)/excess(M, kε) over all that
// was measured, with the number of such pairs: 1 where more parties are like
// more ε.
func doubling(r *results) (float64, int) {
	total, n := 0.0, 0
	parties, epsilons := r.numbers("parties"), r.numbers("epsilon")
	for _, m := range parties {
		for _, e := range epsilons {
			for _, m2 := range parties {
				for _, e2 := range epsilons {
					if m2 <= m || math.Abs(m2*e2/(m*e)-1) > 1e-9 {
						continue
					}
					a := r.where("parties", m2, "epsilon", e2).over("excess")
					b := r.where("parties", m, "epsilon", e).over("excess")
					if a.Mean > 0 && b.Mean > 0 {
						total += math.Log(a.Mean / b.Mean)
						n++
					}
				}
			}
		}
	}
	return math.Exp(total / math.Max(float64(n), 1)), n
}
