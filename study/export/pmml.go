package export

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"caucus/dataset"
)

// PMML is the model as PMML 4.4: columns become derived fields (NormContinuous,
// NormDiscrete and what is added up of them), the scores are those of a
// RegressionModel with softmax.
func (m Model) PMML() ([]byte, error) {
	d := pmml{Model: m, prefix: m.unused("caucus_")}
	h, rest := m.head()
	d.open("PMML", "xmlns", "http://www.dmg.org/PMML-4_4", "version", "4.4")
	d.open("Header", "description", strings.Join(m.words(), " "))
	d.leaf("Application", "name", "caucus")
	d.close("Header")
	d.dictionary()
	d.open("RegressionModel", "functionName", "classification", "normalizationMethod", "softmax", "modelName", m.About.Study, "targetFieldName", m.About.Label)
	d.mining()
	d.open("Output")
	d.leaf("OutputField", "name", d.prefix+"predicted", "optype", "categorical", "dataType", "string", "feature", "predictedValue")
	for _, class := range m.Classes {
		d.output(d.free(string(m.Output)+"_"+class), class)
	}
	d.close("Output")
	d.open("LocalTransformations")
	fields := d.encoded(h)
	offset, weight := h.offset, func(i, k int) float64 { return fields[i].adds[k] }
	if len(rest) > 0 {
		names := d.added(h, fields)
		last := len(rest) - 1
		for i, s := range rest[:last] {
			names = d.step(i, s, names)
		}
		fields = named(names)
		offset, weight = rest[last].Offset, func(i, k int) float64 { return rest[last].Matrix[i][k] }
	}
	if m.told() {
		fields, offset, weight = d.scores(offset, fields, weight)
	}
	d.close("LocalTransformations")
	d.tables(offset, fields, weight)
	d.close("RegressionModel")
	d.close("PMML")
	return []byte(xml.Header + d.String()), nil
}

// pmml writes elements; each text goes through attribute or text, which escape.
type pmml struct {
	Model
	strings.Builder
	prefix string // of fields that are no columns
	depth  int
}

// field is a derived field, with what it adds to each number that comes out.
type field struct {
	name string
	adds []float64
}

// unused is a prefix that no column begins with, nor the label's.
func (m Model) unused(prefix string) string {
	if m.named(func(name string) bool { return strings.HasPrefix(name, prefix) }) {
		return m.unused(prefix + "_")
	}
	return prefix
}

// free is a name for what comes out that no column has, nor the label's.
func (d *pmml) free(name string) string {
	if d.named(func(n string) bool { return n == name }) {
		return d.free(name + "_")
	}
	return name
}

func (m Model) named(is func(name string) bool) bool {
	return is(m.About.Label) || slices.ContainsFunc(m.Columns, func(c Column) bool { return is(c.Name) })
}

func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil { // a Builder takes all
		panic(err)
	}
	return b.String()
}

func (d *pmml) tag(name, end string, attributes []string) {
	fmt.Fprintf(d, "%s<%s", strings.Repeat(" ", d.depth), name)
	for i := 0; i < len(attributes); i += 2 {
		fmt.Fprintf(d, ` %s="%s"`, attributes[i], escaped(attributes[i+1]))
	}
	d.WriteString(end + "\n")
}

func (d *pmml) open(name string, attributes ...string) {
	d.tag(name, ">", attributes)
	d.depth++
}

func (d *pmml) leaf(name string, attributes ...string) { d.tag(name, "/>", attributes) }

func (d *pmml) close(name string) {
	d.depth--
	fmt.Fprintf(d, "%s</%s>\n", strings.Repeat(" ", d.depth), name)
}

// dictionary says which fields there are, and which text stands for a missing cell. A
// text that is no number is missing in a column of numbers anyway (see mining).
func (d *pmml) dictionary() {
	d.open("DataDictionary")
	_, markerIsNumber := dataset.ParseNumber(d.Missing)
	for _, c := range d.Columns {
		optype, dataType, marked := "continuous", "double", markerIsNumber
		if c.Kind == dataset.Categorical {
			optype, dataType, marked = "categorical", "string", false // it counts as other without
		}
		if !marked {
			d.leaf("DataField", "name", c.Name, "optype", optype, "dataType", dataType)
			continue
		}
		d.open("DataField", "name", c.Name, "optype", optype, "dataType", dataType)
		d.leaf("Value", "value", d.Missing, "property", "missing")
		d.close("DataField")
	}
	d.open("DataField", "name", d.About.Label, "optype", "categorical", "dataType", "string")
	for _, class := range d.Classes {
		d.leaf("Value", "value", class)
	}
	d.close("DataField")
	d.close("DataDictionary")
}

func (d *pmml) mining() {
	d.open("MiningSchema")
	d.leaf("MiningField", "name", d.About.Label, "usageType", "target")
	for _, c := range d.Columns {
		invalid := "asMissing"
		if c.Kind == dataset.Categorical {
			invalid = "asIs"
		}
		d.leaf("MiningField", "name", c.Name, "invalidValueTreatment", invalid)
	}
	d.close("MiningSchema")
}

// encoded derives a field for each number, mark and level.
func (d *pmml) encoded(h head) (fields []field) {
	derive := func(adds []float64, write func()) {
		name := fmt.Sprintf("%sx%d", d.prefix, len(fields)+1)
		d.open("DerivedField", "name", name, "optype", "continuous", "dataType", "double")
		write()
		d.close("DerivedField")
		fields = append(fields, field{name, adds})
	}
	for _, t := range h.numbers {
		derive(t.coef, func() { d.number(t) })
		if t.flag != nil {
			derive(t.flag, func() {
				d.open("Apply", "function", "if")
				d.missing(t.Name)
				d.constant(1)
				d.constant(0)
				d.close("Apply")
			})
		}
	}
	for _, t := range h.choices {
		for _, l := range t.levels {
			for _, text := range l.texts {
				derive(l.adds, func() { d.leaf("NormDiscrete", "field", t.Name, "value", text, "mapMissingTo", "0") })
			}
		}
	}
	return fields
}

// number derives an encoded number.
func (d *pmml) number(t numberTerm) {
	if t.standard {
		defer d.cut(t.mean, t.factor, t.cut)()
	}
	if t.Log {
		d.open("Apply", "function", "if")
		d.missing(t.Name)
		d.constant(0.5)
		low := math.Log1p(t.Min)
		d.open("Apply", "function", "/")
		d.open("Apply", "function", "-")
		d.open("Apply", "function", "ln")
		d.open("Apply", "function", "+")
		d.constant(1)
		d.open("Apply", "function", "min")
		d.constant(t.Max)
		d.open("Apply", "function", "max")
		d.constant(t.Min)
		d.leaf("FieldRef", "field", t.Name)
		for range 4 {
			d.close("Apply")
		}
		d.constant(low)
		d.close("Apply")
		d.constant(math.Log1p(t.Max) - low)
		d.close("Apply")
		d.close("Apply")
		return
	}
	d.open("NormContinuous", "field", t.Name, "outliers", "asExtremeValues", "mapMissingTo", "0.5")
	d.leaf("LinearNorm", "orig", number(t.Min), "norm", "0")
	d.leaf("LinearNorm", "orig", number(t.Max), "norm", "1")
	d.close("NormContinuous")
}

// cut opens min(max((… − mean)·factor, −cut), cut); the function closes it.
func (d *pmml) cut(mean, factor, cut float64) func() {
	d.open("Apply", "function", "min")
	d.constant(cut)
	d.open("Apply", "function", "max")
	d.constant(-cut)
	d.open("Apply", "function", "*")
	d.constant(factor)
	d.open("Apply", "function", "-")
	return func() {
		d.constant(mean)
		for range 4 {
			d.close("Apply")
		}
	}
}

func (d *pmml) missing(name string) {
	d.open("Apply", "function", "isMissing")
	d.leaf("FieldRef", "field", name)
	d.close("Apply")
}

func (d *pmml) constant(v float64) {
	fmt.Fprintf(d, "%s<Constant dataType=\"double\">%s</Constant>\n", strings.Repeat(" ", d.depth), number(v))
}

// weighed opens a sum, adds a constant and numbers times fields, and closes it.
func (d *pmml) weighed(offset float64, fields []field, weight func(int) float64) {
	d.open("Apply", "function", "sum")
	d.constant(offset)
	for i, f := range fields {
		if w := weight(i); w != 0 {
			d.open("Apply", "function", "*")
			d.constant(w)
			d.leaf("FieldRef", "field", f.name)
			d.close("Apply")
		}
	}
	d.close("Apply")
}

// derived derives one field.
func (d *pmml) derived(name string, write func()) string {
	d.open("DerivedField", "name", name, "optype", "continuous", "dataType", "double")
	write()
	d.close("DerivedField")
	return name
}

// output says what is told of a class: its probability in PMML's sense, the softmax of
// the tables, or the field that scores derived.
func (d *pmml) output(name, class string) {
	at := []string{"name", name, "optype", "continuous", "dataType", "double", "feature"}
	if !d.told() {
		d.leaf("OutputField", append(at, "probability", "value", class)...)
		return
	}
	d.open("OutputField", append(at, "transformedValue")...)
	d.leaf("FieldRef", "field", d.score(slices.Index(d.Classes, class)))
	d.close("OutputField")
}

func (d *pmml) score(k int) string { return fmt.Sprintf("%sscore%d", d.prefix, k+1) }

// scores derives the score of each class, and gives tables whose softmax has the same
// order and no exponent that overflows: what passes into the last step is in [−1, 1].
func (d *pmml) scores(offset []float64, fields []field, weight func(i, k int) float64) ([]field, []float64, func(i, k int) float64) {
	most := 1.0
	var names []string
	for k := range d.Classes {
		all := math.Abs(offset[k])
		for i := range fields {
			all += math.Abs(weight(i, k))
		}
		most = max(most, all)
		names = append(names, d.derived(d.score(k), func() { d.weighed(offset[k], fields, func(i int) float64 { return weight(i, k) }) }))
	}
	return named(names), make([]float64, len(names)), func(i, k int) float64 {
		if i == k {
			return 1 / most
		}
		return 0
	}
}

// named are fields by their names.
func named(names []string) []field {
	all := make([]field, len(names))
	for i, n := range names {
		all[i].name = n
	}
	return all
}

// added derives what all columns add up to.
func (d *pmml) added(h head, fields []field) (names []string) {
	for j, offset := range h.offset {
		names = append(names, d.derived(fmt.Sprintf("%sy%d", d.prefix, j+1), func() {
			d.weighed(offset, fields, func(i int) float64 { return fields[i].adds[j] })
		}))
	}
	return names
}

// step derives the fields of a step.
func (d *pmml) step(at int, s Step, of []string) (names []string) {
	name := func() string { return fmt.Sprintf("%sstep%d_%d", d.prefix, at+1, len(names)+1) }
	add := func(write func()) { names = append(names, d.derived(name(), write)) }
	apply := func(function string, within ...func()) func() {
		return func() {
			d.open("Apply", "function", function)
			for _, w := range within {
				w()
			}
			d.close("Apply")
		}
	}
	ref := func(name string) func() { return func() { d.leaf("FieldRef", "field", name) } }
	constant := func(v float64) func() { return func() { d.constant(v) } }
	switch s.Op {
	case Linear:
		fields := named(of)
		for k, offset := range s.Offset {
			add(func() { d.weighed(offset, fields, func(i int) float64 { return s.Matrix[i][k] }) })
		}
	case Standard:
		for i, n := range of {
			add(func() {
				end := d.cut(s.Mean[i], s.Factor[i], s.Cut)
				d.leaf("FieldRef", "field", n)
				end()
			})
		}
	case Waves:
		for _, n := range of {
			add(apply("*", constant(s.Scale), apply("cos", ref(n))))
			add(apply("*", constant(s.Scale), apply("sin", ref(n))))
		}
	case Ball:
		squares := []func(){}
		for _, n := range of {
			squares = append(squares, apply("*", ref(n), ref(n)))
		}
		norm := d.derived(fmt.Sprintf("%snorm%d", d.prefix, at+1), apply("max", constant(1), apply("sqrt", apply("sum", squares...))))
		for _, n := range of {
			add(apply("/", ref(n), ref(norm)))
		}
	}
	return names
}

// tables writes a regression table for each class.
func (d *pmml) tables(offset []float64, fields []field, weight func(i, k int) float64) {
	for k, class := range d.Classes {
		d.open("RegressionTable", "intercept", number(offset[k]), "targetCategory", class)
		for i, f := range fields {
			if w := weight(i, k); w != 0 {
				d.leaf("NumericPredictor", "name", f.name, "coefficient", number(w))
			}
		}
		d.close("RegressionTable")
	}
}
