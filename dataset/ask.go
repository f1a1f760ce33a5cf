package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// Matches answers a condition for every row of a public table, which may have columns outside the
// schema (the zero schema has none). Columns of the schema are compared by their meaning
// ([Schema.EncodeWhere]). Other columns are compared as written. So is a column of the schema if a
// comparison names a text that is no level, but stands in one of its cells.
//
// Matches refuses a comparison that no row can meet, because it must be a mistake. For a column of
// the schema, CheckWhere finds such comparisons. In another column, a comparison is refused if it
// compares a number with a text, puts texts in order, or names a text that no cell has. Matches
// also refuses a column if one comparison names a cell as written and another names a level that no
// cell has, because the two contradict each other.
func (s Schema) Matches(c Condition, t *Table) ([]bool, error) {
	stands := map[string]bool{}
	levels := map[string]comparison{} // by column, a comparison with a level that no cell has
	var err error
	c.root.visit(func(of comparison) {
		col := t.column(of.column)
		if col == nil || err != nil { // c.Rows reports a missing column
			return
		}
		_, known := s.featureOf(of.column)
		if known = known || of.column == s.Label.Column; known {
			if err = s.checkComparison(of); err == nil {
				if (of.op == "==" || of.op == "!=") && !col.has(of) {
					levels[of.column] = of
				}
				return
			}
		} else {
			err = col.checkComparison(of)
		}
		if stands[of.column] = true; col.has(of) {
			err = nil
		}
	})
	if err != nil {
		return nil, fmt.Errorf("answer %q: %w", c.text, err)
	}
	for name := range stands {
		if of, both := levels[name]; both {
			return nil, fmt.Errorf("answer %q: %q is how the schema calls cells of %s, another comparison names a cell as it stands: ask for one of them at a time", c.text, of.value, name)
		}
	}
	asked := *t
	asked.columns = slices.Clone(t.columns)
	for _, name := range c.Columns() {
		_, known := s.featureOf(name)
		if col := asked.column(name); col != nil && !stands[name] &&
			(known || name == s.Label.Column) {
			col.values = s.meanings(name, col.values)
		}
	}
	return c.Rows(&asked)
}

// has reports whether a comparison is == or != with the text of one of the column's cells, or with
// "".
func (c *column) has(of comparison) bool {
	is := comparison{of.column, "==", of.value}
	v, isNumber := ParseNumber(of.value)
	return (of.op == "==" || of.op == "!=") &&
		(of.value == "" || slices.ContainsFunc(c.values, func(cell string) bool {
			return is.holds(strings.TrimSpace(cell), v, isNumber)
		}))
}

// checkComparison refuses a comparison, on a column outside the schema, that no cell can meet. A
// column counts as numeric if all its cells are numbers, except at most one text, which may mark
// missing values.
func (c *column) checkComparison(of comparison) error {
	var texts []string
	numbers := 0
	for _, v := range c.values {
		if _, ok := ParseNumber(v); ok {
			numbers++
		} else if v = strings.TrimSpace(v); v != "" {
			texts = append(texts, v)
		}
	}
	if numbers > 0 && len(texts) <= 1 {
		if _, ok := ParseNumber(of.value); !ok {
			return fmt.Errorf("%q: %s holds numbers, so compare it with one", of.value, of.column)
		}
		return nil
	}
	if of.op != "==" && of.op != "!=" {
		return fmt.Errorf("%s %s: %s holds texts, which are compared by == and !=", of.column, of.op, of.column)
	}
	return noLevel(of, c.values)
}
