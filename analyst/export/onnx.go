package export

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"caucus/dataset"
)

// ONNX versions of the graph, which onnxruntime reads since version 1.12.
const (
	onnxIR, onnxOps, onnxMLOps = 8, 15, 3
	onnxML                     = "ai.onnx.ml"
)

// ONNX returns the model as an ONNX graph in double precision. Each column is an input of rows × 1:
// a number (double; NaN is missing) or a text (string; empty is missing). Outputs are each row's
// class, and a matrix of rows × classes.
func (m Model) ONNX() ([]byte, error) {
	g := graph{prefix: m.unused("caucus_")}
	h, rest := m.head()
	width := len(h.offset)
	sum := g.constant(h.offset, 1, width)
	if len(h.numbers) > 0 {
		sum = g.numbers(m, h.numbers, sum, width)
	}
	for _, t := range h.choices {
		sum = g.choice(t, sum, width)
	}
	for _, s := range rest {
		sum, width = g.step(s, sum, width)
	}
	label, told := g.free(m, "label"), g.free(m, string(m.Output))
	if m.scores() {
		g.node("Identity", "", []string{sum}, told)
	} else {
		g.node("Softmax", "", []string{sum}, told, intOf("axis", 1))
	}
	best := g.apply("ArgMax", []string{sum}, intOf("axis", 1), intOf("keepdims", 0))
	classes := g.name()
	g.tensors = append(g.tensors, texts(classes, m.Classes))
	g.node("Gather", "", []string{classes, best}, label, intOf("axis", 0))

	var body message
	for _, n := range g.nodes {
		body.bytes(1, n)
	}
	body.text(2, "caucus")
	for _, t := range g.tensors {
		body.bytes(5, t)
	}
	for _, c := range m.Columns {
		kind := int64(onnxDouble)
		if c.Kind == dataset.Categorical {
			kind = onnxString
		}
		body.bytes(11, value(c.Name, kind, 1))
	}
	body.bytes(12, value(label, onnxString, 0))
	body.bytes(12, value(told, onnxDouble, len(m.Classes)))
	return m.onnxModel(body)
}

func (m Model) unused(prefix string) string {
	has := func(name string) bool { return strings.HasPrefix(name, prefix) }
	if has(m.About.Label) || slices.ContainsFunc(m.Columns, func(c Column) bool {
		return has(c.Name)
	}) {
		return m.unused(prefix + "_")
	}
	return prefix
}

func (m Model) onnxModel(graph message) ([]byte, error) {
	var out message
	out.number(1, onnxIR)
	out.text(2, "caucus")
	out.text(6, strings.Join(m.words(), "\n"))
	out.bytes(7, graph)
	for _, set := range []struct {
		domain  string
		version int64
	}{{"", onnxOps}, {onnxML, onnxMLOps}} {
		var id message
		id.text(1, set.domain)
		id.number(2, set.version)
		out.bytes(8, id)
	}
	about, err := json.Marshal(struct {
		About    About    `json:"about"`
		Classes  []string `json:"classes"`
		Output   string   `json:"output"`
		Warnings []string `json:"warnings"`
	}{m.About, m.Classes, string(m.Output), m.Warnings})
	if err != nil {
		return nil, fmt.Errorf("export: write ONNX: %w", err)
	}
	var entry message
	entry.text(1, "caucus")
	entry.bytes(2, about)
	out.bytes(14, entry)
	return out, nil
}

type graph struct {
	prefix  string
	names   int
	nodes   [][]byte
	tensors [][]byte
}

func (g *graph) name() string {
	g.names++
	return fmt.Sprintf("%s%d", g.prefix, g.names)
}

func (g *graph) free(m Model, name string) string {
	for _, c := range m.Columns {
		if c.Name == name {
			return g.free(m, name+"_")
		}
	}
	return name
}

func (g *graph) node(op, domain string, in []string, out string, attributes ...attribute) string {
	g.nodes = append(g.nodes, node(op, domain, in, []string{out}, attributes...))
	return out
}

func (g *graph) apply(op string, in []string, attributes ...attribute) string {
	return g.node(op, "", in, g.name(), attributes...)
}

func (g *graph) constant(values []float64, dims ...int) string {
	name := g.name()
	g.tensors = append(g.tensors, doubles(name, values, dims...))
	return name
}

func (g *graph) plus(sum, x string, weights [][]float64, width int) string {
	var all []float64
	for _, row := range weights {
		all = append(all, row...)
	}
	return g.apply("Add", []string{sum,
		g.apply("MatMul", []string{x, g.constant(all, len(weights), width)})})
}

// numbers adds nodes that encode all number columns in one matrix, and add their terms to sum.
func (g *graph) numbers(m Model, terms []numberTerm, sum string, width int) string {
	n := len(terms)
	var inputs []string
	var low, high, base, span, mean, factor, cut, negative []float64
	logs, anyLog, anyFlag := make([]bool, n), false, false
	var coef, flags [][]float64
	for i, t := range terms {
		inputs = append(inputs, t.Name)
		low, high = append(low, t.Min), append(high, t.Max)
		from, to := t.Min, t.Max
		if t.Log {
			from, to, logs[i], anyLog = math.Log1p(t.Min), math.Log1p(t.Max), true, true
		}
		base, span = append(base, from), append(span, to-from)
		centre, scale, most := 0., 1., math.MaxFloat64
		if t.standard {
			centre, scale, most = t.mean, t.factor, t.cut
		}
		mean, factor, cut, negative = append(mean, centre), append(factor, scale), append(cut,
			most), append(negative, -most)
		coef = append(coef, t.coef)
		flag := t.flag
		if flag == nil {
			flag = make([]float64, width)
		} else {
			anyFlag = true
		}
		flags = append(flags, flag)
	}
	row := func(v []float64) string { return g.constant(v, 1, n) }
	raw := g.apply("Concat", inputs, intOf("axis", 1))
	missing := g.apply("Or", []string{g.apply("IsNaN", []string{raw}),
		g.apply("IsInf", []string{raw})})
	if v, ok := dataset.ParseNumber(m.Missing); ok {
		missing = g.apply("Or", []string{missing,
			g.apply("Equal", []string{raw, g.constant([]float64{v}, 1, 1)})})
	}
	x := g.apply("Max", []string{g.apply("Min", []string{raw, row(high)}), row(low)})
	if anyLog {
		mask := g.name()
		g.tensors = append(g.tensors, bools(mask, logs, 1, n))
		one := g.constant([]float64{1}, 1, 1)
		x = g.apply("Where", []string{mask,
			g.apply("Log", []string{g.apply("Add", []string{x, one})}), x})
	}
	x = g.apply("Div", []string{g.apply("Sub", []string{x, row(base)}), row(span)})
	x = g.apply("Where", []string{missing, g.constant([]float64{0.5}, 1, 1), x})
	x = g.apply("Mul", []string{g.apply("Sub", []string{x, row(mean)}), row(factor)})
	x = g.apply("Max", []string{g.apply("Min", []string{x, row(cut)}), row(negative)})
	sum = g.plus(sum, x, coef, width)
	if anyFlag {
		sum = g.plus(sum, g.apply("Cast", []string{missing}, intOf("to", onnxDouble)), flags, width)
	}
	return sum
}

func (g *graph) choice(t choiceTerm, sum string, width int) string {
	var all []string
	var adds [][]float64
	for _, l := range t.levels {
		for _, text := range l.texts {
			all, adds = append(all, text), append(adds, l.adds)
		}
	}
	known := g.node("OneHotEncoder", onnxML, []string{t.Name}, g.name(),
		attribute{name: "cats_strings", text: all}, intOf("zeros", 1))
	axis := g.name()
	g.tensors = append(g.tensors, int64s(axis, []int64{1}))
	flat := g.apply("Squeeze", []string{known, axis})
	return g.plus(sum, g.apply("Cast", []string{flat}, intOf("to", onnxDouble)), adds, width)
}

func (g *graph) step(s Step, x string, width int) (string, int) {
	switch s.Op {
	case Linear:
		return g.plus(g.constant(s.Offset, 1, len(s.Offset)), x, s.Matrix,
			len(s.Offset)), len(s.Offset)
	case Standardise:
		u := g.apply("Mul", []string{g.apply("Sub", []string{x, g.constant(s.Mean, 1, width)}),
			g.constant(s.Factor, 1, width)})
		return g.apply("Max", []string{g.apply("Min",
			[]string{u, g.constant([]float64{s.Cut}, 1, 1)}), g.constant([]float64{-s.Cut}, 1,
			1)}), width
	}
	// The remaining op is ball: it divides a row by its norm if the norm is above 1.
	norm := g.apply("Sqrt", []string{g.apply("ReduceSumSquare", []string{x},
		attribute{name: "axes", ints: []int64{1}})})
	return g.apply("Div", []string{x,
		g.apply("Max", []string{norm, g.constant([]float64{1}, 1, 1)})}), width
}
