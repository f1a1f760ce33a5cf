package regress

import (
	"math"
	"slices"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
)

// Column is one number of a record's row: a number of the schema, a level of a text (1 or 0), or a
// class of the label (1 or 0). Its encoded value v enters the row as (v − Mean)/Scale.
type Column struct {
	Column string // of the schema
	Level  string // "" for a number
	// Low and High are the values, in the schema's unit, that are encoded as 0 and 1; if Log, they
	// are log(1 + value). 0 and 1 for a level.
	Low, High float64
	Log       bool
	// Mean and Scale standardise the encoded value, by the pool. Without a spread there, or for a
	// class, which a pool does not hold, they follow from the schema and the terms.
	Mean, Scale float64
	at          int // encoded column; −1: a class
	class       int
}

// Name is the column, with the level that is 1, or the scale of a logarithm.
func (c Column) Name() string {
	switch {
	case c.Level != "":
		return c.Column + " = " + c.Level
	case c.Log:
		return "log(1 + " + c.Column + ")"
	}
	return c.Column
}

// InPool reports whether the rows of a pool have the column: it is no class of the label.
func (c Column) InPool() bool { return c.at >= 0 }

// Design says how a record becomes a row of integers: One, then each column, then the outcome.
type Design struct {
	Columns []Column
	Outcome Column
	// Base has the level of each text that has no column of its own: the pool's most frequent.
	Base map[string]string
	Lattice
	present []present
}

// present says what an encoded column of a complete record holds: a number, or 0.
type present struct {
	at   int
	zero bool
}

// Dim is the length of a row.
func (d *Design) Dim() int { return len(d.Columns) + 2 }

// DesignOf makes the design of a plan, whose columns and outcome it standardises by the complete
// rows of the pool. It refuses a pool without one. The error names the term that does not fit the
// schema.
func DesignOf(p study.Plan, pool *auxdata.Pool) (*Design, error) {
	t := study.TermsOf[Terms](p)
	d, err := t.columns(p.Schema, pool)
	if err != nil {
		return nil, err
	}
	if len(d.rows(pool)) == 0 {
		return nil, study.PlanError("pool", "no row has all columns of the regression: give a pool with such rows, or name fewer columns")
	}
	d.Lattice, err = t.lattice(p, d.Dim())
	return d, err
}

// columns finds the columns and the outcome, without the lattice. Without a pool each text's first
// level is its base.
func (t Terms) columns(s dataset.Schema, pool *auxdata.Pool) (*Design, error) {
	d := &Design{Base: map[string]string{}}
	for _, name := range append([]string{t.Outcome}, t.Columns...) {
		if f, block, ok := feature(s, name); ok {
			d.need(f, block)
		}
	}
	rows := d.rows(pool)
	var err error
	if d.Outcome, err = t.outcome(s, rows); err != nil {
		return nil, err
	}
	for k, name := range t.Columns {
		f, block, ok := feature(s, name)
		switch {
		case !ok:
			return nil, study.PlanError("regress.columns", "%q is no feature of the schema: name features that have one column each", name)
		case name == t.Outcome || slices.Contains(t.Columns[:k], name):
			return nil, study.PlanError("regress.columns", "%q stands there twice, or is the outcome: leave one out", name)
		case f.Kind == dataset.Numeric:
			d.Columns = append(d.Columns, numberColumn(f, block, rows))
			continue
		case len(f.Levels) < 2:
			return nil, study.PlanError("regress.columns", "the schema names one level of %q: there is nothing to compare", name)
		}
		base, most := 0, -1.
		for i := range f.Levels {
			if n := mean(rows, block.Start+i); n > most {
				base, most = i, n
			}
		}
		d.Base[name] = f.Levels[base]
		for i, level := range f.Levels {
			if i != base {
				d.Columns = append(d.Columns, levelColumn(name, level, block.Start+i, rows))
			}
		}
	}
	return d, nil
}

func (t Terms) outcome(s dataset.Schema, rows [][]float64) (Column, error) {
	if t.Outcome == s.Label.Column && t.Outcome != "" {
		k := slices.Index(s.Label.Classes, t.Is)
		if k < 0 {
			return Column{}, study.PlanError("regress.is", "%q is no class of the label %s, which has %q: name the one that counts as 1", t.Is, t.Outcome, s.Label.Classes)
		}
		share := t.Expected
		return Column{Column: t.Outcome, Level: t.Is, High: 1, at: -1, class: k, Mean: share,
			Scale: math.Sqrt(share * (1 - share))}, nil
	}
	f, block, ok := feature(s, t.Outcome)
	switch {
	case !ok:
		return Column{}, study.PlanError("regress.outcome", "%q is neither the label nor a feature of the schema", t.Outcome)
	case f.Kind == dataset.Numeric && t.Is != "":
		return Column{}, study.PlanError("regress.is", "%s is a number: leave is out", t.Outcome)
	case f.Kind == dataset.Numeric:
		return numberColumn(f, block, rows), nil
	}
	k := slices.Index(f.Levels, t.Is)
	if k < 0 {
		return Column{}, study.PlanError("regress.is", "%q is no level that the schema names of %s, which has %q: name the one that counts as 1", t.Is, t.Outcome, f.Levels)
	}
	return levelColumn(t.Outcome, t.Is, block.Start+k, rows), nil
}

// need demands that a record has a value of a feature: a number, or a level that the schema names.
func (d *Design) need(f dataset.Feature, block dataset.Block) {
	switch at := block.Start; {
	case f.Kind == dataset.Categorical:
		// A missing text, and one that the schema does not name, is marked at level other.
		other := slices.Index(f.Levels, otherLevel)
		if other < 0 {
			other = len(f.Levels)
		}
		d.present = append(d.present, present{at + other, other == len(f.Levels)})
	case f.FlagMissing:
		d.present = append(d.present, present{at, false}, present{at + 1, true})
	default:
		d.present = append(d.present, present{at, false})
	}
}

// otherLevel is the level of texts that the schema does not name.
const otherLevel = "other"

func numberColumn(f dataset.Feature, block dataset.Block, rows [][]float64) Column {
	c := Column{Column: f.Column, Low: f.Min, High: f.Max, Log: f.Log, at: block.Start}
	if f.Log {
		c.Low, c.High = math.Log1p(f.Min), math.Log1p(f.Max)
	}
	// Half the range is the largest standard deviation that a number in it can have.
	return c.standardised(rows, 0.5, 0.5)
}

func levelColumn(column, level string, at int, rows [][]float64) Column {
	c := Column{Column: column, Level: level, High: 1, at: at}
	return c.standardised(rows, 0, 0.5)
}

// leastScale is the least spread that is more than rounding, as a share of the schema's range.
const leastScale = 1e-6

// standardised sets mean and scale by the rows, or to the given ones if the rows have no spread.
func (c Column) standardised(rows [][]float64, middle, half float64) Column {
	c.Mean = mean(rows, c.at)
	squares := 0.
	for _, row := range rows {
		off := row[c.at] - c.Mean
		squares += off * off
	}
	if c.Scale = math.Sqrt(squares / max(1, float64(len(rows)))); c.Scale < leastScale {
		c.Mean, c.Scale = middle, half
	}
	return c
}

// rows returns the pool's complete rows, encoded: what they have of a label does not count.
func (d *Design) rows(pool *auxdata.Pool) [][]float64 {
	var out [][]float64
	for i := 0; pool != nil && i < pool.Rows(); i++ {
		if row := pool.MissingMarked.RawRowView(i); d.complete(row) {
			out = append(out, row)
		}
	}
	return out
}

// complete reports whether an encoded record has all columns, and an outcome that is no label.
func (d *Design) complete(row []float64) bool {
	for _, p := range d.present {
		if v := row[p.at]; v != v || p.zero && v != 0 {
			return false
		}
	}
	return true
}

// mean returns the mean of an encoded column.
func mean(rows [][]float64, column int) float64 {
	sum := 0.
	for _, row := range rows {
		sum += row[column]
	}
	return sum / max(1, float64(len(rows)))
}

// feature returns a column's own feature with its first encoded block.
func feature(s dataset.Schema, column string) (dataset.Feature, dataset.Block, bool) {
	at := slices.IndexFunc(s.Features, func(f dataset.Feature) bool {
		return f.Column == column && column != ""
	})
	if at < 0 {
		return dataset.Feature{}, dataset.Block{}, false
	}
	blocks := s.Blocks()
	return s.Features[at], blocks[slices.IndexFunc(blocks, func(b dataset.Block) bool {
		return b.Column == column
	})], true
}

// Standard writes an encoded record's standardised columns, and its outcome last, to u, which has
// room for Dim − 1 numbers. It returns false for a record that drops out: one without its outcome
// or one of its columns. class is −1 for a record without a label.
func (d *Design) Standard(u, row []float64, class int) bool {
	if !d.complete(row) {
		return false
	}
	for j, c := range d.Columns {
		u[j] = (row[c.at] - c.Mean) / c.Scale
	}
	v := 0.
	if y := d.Outcome; y.at >= 0 {
		v = row[y.at]
	} else if class < 0 {
		return false
	} else if class == y.class {
		v = 1
	}
	u[len(d.Columns)] = (v - d.Outcome.Mean) / d.Outcome.Scale
	return true
}
