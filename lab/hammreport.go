package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"caucus/privacy"
)

// within is the distance from the accuracy without noise that counts as reached: one point.
const within = 0.01

// Methods that figures show: at most eight, so that colours differ.
var (
	partyCurves = []string{"tally", "means", "moment", "output-paper, oracle λ", "majority",
		"PATE", "DP-FedAvg, oracle rounds and clip"}
	recordCurves = []string{"cross", "cross, noise added once", "cross, pure ε",
		"tally on shards, noise added once", "output-paper on shards, oracle λ",
		"DP-FedAvg at sites, oracle rounds", "DP-SGD pooled, oracle epochs",
		"output perturbation pooled, oracle λ"}
)

// references have no ε of their own; Pathak has a table of its own, because its
// guarantee was never meant for a party.
var hammReferences = []string{"unperturbed", "unperturbed shards", "pooled", "one party alone",
	"majority class"}

const pathakMethod = "Pathak et al., oracle λ"

func hammReport(l *lab, r *results, p *page) error {
	sets := hammSets
	if l.Quick {
		sets = quickSets
	}
	hammRules(p, sets)
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

func hammRules(p *page, sets []hammSet) {
	p.section("Rules")
	p.paragraph("Accuracy on test records, mean ± standard deviation over draws; a draw is a split into pool, parties and test records, trained votes and noise. δ = %g for every method with a δ; `moment`, `means, pure ε`, `cross, pure ε`, `output*`, `majority`, Pathak et al. and the perturbed solutions are pure ε.", hammDelta)
	p.paragraph("Caucus's mechanisms choose λ by `auto`, after the noise, from public things. **Oracle** methods are given their best setting on the test records, which nobody has: `output-paper` its λ of %v, DP-FedAvg its rounds and clip (without *oracle*: the middle of its grid, the same everywhere), DP-SGD its epochs, perturbed solutions their λ, PATE its noise (by how well its answers agree with the private votes). PATE's ε is data-dependent (Papernot et al. 2018, Theorem 6) and DP-SGD's promise is for adding or removing a record, where all others hide a replacement. Gradient rivals work in coordinates whitened by the public pool. All of this favours the rivals; at small ε an oracle also profits from luck, being the best of several noisy results.", oracleLambdas)
	p.paragraph("The methods' curves run from ε = %g to %g; `output-paper` was also measured at %v, to see when it arrives, and `tally` at the first of these.", hammEpsilons[0], hammEpsilons[len(hammEpsilons)-1], farEpsilons)
	p.paragraph("Splits, drawn anew for each draw: %s. Test records are the set's own file, or a quarter where it has none (and for kddcup99, whose test file holds other attacks). %g of the rest is for the pool, cut to its rows; parties share what is left.", hammSplits(sets), poolPart)
	p.paragraph("At record level each site has at most %d/sites shards, of %d records or more. *Noise added once* needs a trusted coordinator; otherwise every site adds its own.", shardsInAll, shardSize)
}

// hammSplits says how many records and pool rows of each set are used.
func hammSplits(sets []hammSet) string {
	var all []string
	for _, s := range sets {
		records := "all"
		if s.Records > 0 {
			records = fmt.Sprint(s.Records)
		}
		all = append(all, fmt.Sprintf("%s %s records and %d pool rows", s.Name, records,
			s.PoolRows))
	}
	return strings.Join(all, ", ")
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

// needed is the least number (ε, or parties) from which on a rising curve stays at its goal,
// between measured points on a log scale. low and high say that it lies beyond what was measured.
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

// place is a set with a number of parties and how they were made.
type place struct {
	set, parties, partition string
	rows                    *results
}

// placesIn lists them, those measured at one ε only left out.
func placesIn(r *results) (out []place) {
	for _, set := range r.distinct("set") {
		s := r.where("set", set)
		for _, m := range s.numbers("parties") {
			for _, partition := range s.where("parties", m).distinct("partition") {
				at := s.where("parties", m, "partition", partition)
				if len(at.numbers("epsilon")) > 1 {
					out = append(out, place{set, cell(m), partition, at})
				}
			}
		}
	}
	return out
}

// unperturbed is the accuracy of the vote without noise.
func (q place) unperturbed() moments {
	return q.rows.where("method", "unperturbed").over("accuracy")
}

// need is the ε a method needs to come within 1 point of it.
func (q place) need(method string) needed {
	goal := q.unperturbed().Mean - within
	return neededFor(curveOf(method, q.rows.where("method", method), "epsilon", "accuracy").Points,
		func(float64) float64 {
			return goal
		})
}

// needTable shows the ε each method needs, a line a place. Oracles are starred.
func needTable(p *page, places []place, methods []string, noun string) {
	header := []string{"data", noun, "vote without noise"}
	for _, m := range methods {
		name, oracle := strings.CutSuffix(m, ", oracle λ")
		if at := strings.Index(name, ", oracle "); at >= 0 {
			name, oracle = name[:at], true
		}
		if oracle {
			name += " \\*"
		}
		header = append(header, name)
	}
	var rows [][]string
	for _, q := range places {
		parties := q.parties
		if q.partition == "natural" || q.partition == "skewed" {
			parties += " " + q.partition
		}
		line := []string{q.set, parties, q.unperturbed().String()}
		for _, m := range methods {
			line = append(line, q.need(m).String())
		}
		rows = append(rows, line)
	}
	p.table(header, rows)
}

// hammHeadline: the ε each method needs, and the parties each needs at ε = 1.
func hammHeadline(p *page, r *results) {
	p.section("Party level: the ε each needs to come within 1 point of the vote without noise")
	p.paragraph("\\* with an oracle's settings. *> 10*: not at any ε measured; *≤ 0.01*: already at the least.")
	places := placesIn(r)
	main := slices.DeleteFunc(slices.Clone(partyCurves), func(m string) bool {
		return m == "majority"
	})
	needTable(p, places, main, "parties")
	verdictOnPaper(p, places)
	rivalVerdicts(p, r, []string{"means", "PATE", "DP-FedAvg, oracle rounds and clip"}, "tally")
	rivalVerdicts(p, r, []string{"tally", "PATE", "DP-FedAvg, oracle rounds and clip"}, "means")
	p.paragraph("The same for the other variants:")
	needTable(p, places, slices.DeleteFunc(methodsIn(r), func(m string) bool {
		return slices.Contains(main, m)
	}), "parties")

	p.section("Party level: the parties each needs at ε = 1")
	p.paragraph("To come within 1 point of the vote without noise of as many parties.")
	header := append([]string{"method"}, r.distinct("set")...)
	var rows [][]string
	for _, m := range methodsIn(r) {
		line := []string{m}
		for _, set := range r.distinct("set") {
			s := r.where("set", set, "partition", "random")
			goal := func(x float64) float64 {
				return s.where("parties", x, "method", "unperturbed").over("accuracy").Mean - within
			}
			line = append(line, neededFor(curveOf(m, s.where("method", m, "epsilon", 1.), "parties",
				"accuracy").Points, goal).String())
		}
		rows = append(rows, line)
	}
	p.table(header, rows)
	bytesTable(p, r)
}

// verdictOnPaper says how many times tally's ε the published mechanism needs.
func verdictOnPaper(p *page, places []place) {
	const goal = 10 // times
	var rows [][]string
	reached, sets := map[string]bool{}, map[string]bool{}
	for _, q := range places {
		sets[q.set] = true
		ours, theirs := q.need("tally"), q.need("output-paper, oracle λ")
		if ours.High || !ours.Measured || !theirs.Measured {
			continue
		}
		ratio := fmt.Sprintf("%.0f", theirs.At/ours.At)
		if theirs.High || ours.Low {
			// a bound from below is not rounded up
			ratio = fmt.Sprintf("> %.0f", math.Floor(theirs.At/ours.At))
		}
		if theirs.At/ours.At >= goal {
			reached[q.set] = true
		}
		rows = append(rows, []string{q.set, q.parties, ours.String(), theirs.String(), ratio})
	}
	if len(rows) == 0 {
		return
	}
	p.paragraph("`output-paper` at its oracle λ needs at least %d times `tally`'s ε on %d of %d sets, for some number of parties:", goal, len(reached), len(sets))
	p.table([]string{"data", "parties", "tally's ε", "output-paper's ε", "times"}, rows)
}

// rivalVerdicts says where a rival is ahead, and by how much.
func rivalVerdicts(p *page, r *results, rivals []string, ours string) {
	var rows [][]string
	for _, set := range r.distinct("set") {
		s := r.where("set", set)
		for _, m := range s.numbers("parties") {
			for _, partition := range s.where("parties", m).distinct("partition") {
				at := s.where("parties", m, "partition", partition)
				low, high := at.where("method",
					"majority class").over("accuracy").Mean, at.where("method",
					"unperturbed").over("accuracy").Mean
				for _, e := range at.numbers("epsilon") {
					mine := at.where("method", ours, "epsilon", e).over("accuracy")
					for _, rival := range rivals {
						theirs := at.where("method", rival, "epsilon", e).over("accuracy")
						if theirs.N > 0 && mine.N > 0 && theirs.Mean > mine.Mean+within &&
							theirs.Mean > (low+high)/2 {
							rows = append(rows,
								[]string{set, cell(m), partition, cell(e), rival,
									fmt.Sprintf("%.4f", theirs.Mean), fmt.Sprintf("%.4f",
										mine.Mean), fmt.Sprintf("%+.3f", theirs.Mean-mine.Mean)})
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
	p.table([]string{"set", "parties", "partition", "ε", "rival", "its accuracy", ours, "gap"},
		rows)
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
	places := placesIn(r)
	needTable(p, places, recordCurves, "sites")
	rivalVerdicts(p, r, []string{"DP-FedAvg at sites, oracle rounds"}, "cross")
	rivalVerdicts(p, r, []string{"DP-FedAvg, noise added once, oracle rounds",
		"DP-SGD pooled, oracle epochs", "output perturbation pooled, oracle λ",
		"objective perturbation pooled, oracle λ"}, "cross, noise added once")
	p.paragraph("The same for the other variants:")
	needTable(p, places, slices.DeleteFunc(methodsIn(r), func(m string) bool {
		return m == pathakMethod || slices.Contains(recordCurves, m)
	}), "sites")
	p.section("Record level: averages of the sites' solutions (Pathak et al.)")
	p.paragraph("Hides one record of the smallest site; says nothing about a party.")
	needTable(p, places, []string{pathakMethod}, "sites")
}

// accuracyTables shows all means, with a figure for each set and number of parties.
func accuracyTables(p *page, r *results, curves []string, noun string) error {
	for _, set := range r.distinct("set") {
		for _, m := range r.where("set", set).numbers("parties") {
			for _, partition := range r.where("set", set, "parties", m).distinct("partition") {
				at := r.where("set", set, "parties", m, "partition", partition)
				epsilons := at.numbers("epsilon")
				title := fmt.Sprintf("%s, %s %s, %s", set, cell(m), noun, partition)
				p.paragraph("**%s**, draws: %d", title, len(at.distinct("draw")))
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
							line = append(line,
								at.where("method", method, "epsilon", e).over("accuracy").String())
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
					if c := curveOf(method, at.where("method", method), "epsilon",
						"accuracy"); len(c.Points) > 0 {
						f.Curves = append(f.Curves, c)
					}
				}
				for _, ref := range []string{"unperturbed", "majority class"} {
					f.Lines = append(f.Lines,
						reference{Name: ref, Y: at.where("method", ref).over("accuracy").Mean})
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
