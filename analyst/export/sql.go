package export

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Table is the table that a query reads.
type Table struct {
	Name string // may begin with a database schema and a point
	// ExtraColumns lists the columns to show beside the predictions. Empty means the columns that
	// the model reads.
	ExtraColumns []string
}

// TableError is the error for a Table that allows no query. The text says what to do.
type TableError struct{ Reason string }

// Error says what to change, such as an empty name, or a column that the query would have twice.
func (t TableError) Error() string { return "export: " + t.Reason }

// mostSQLColumns bounds a query's columns. PostgreSQL allows 1,664, and SQLite 2,000 by default.
const mostSQLColumns = 1600

// SQL returns the model as one SELECT for PostgreSQL 12 or newer, and SQLite 3.35 or newer with its
// mathematical functions. The WITH clause has a table for each stage: cells as text, numbers, the
// sum over columns, the steps, the scores. MATERIALIZED makes PostgreSQL compute each table once,
// not at each use.
func (m Model) SQL(t Table) ([]byte, error) {
	if slices.Contains(strings.Split(t.Name, "."), "") || slices.Contains(t.ExtraColumns, "") {
		return nil, TableError{fmt.Sprintf("the table %q or a column of it to keep has an empty name", t.Name)}
	}
	q := query{Model: m, keep: t.ExtraColumns}
	if len(t.ExtraColumns) == 0 {
		for _, c := range m.Columns {
			q.keep = append(q.keep, c.Name)
		}
	}
	names := append(slices.Clone(q.keep), "predicted")
	for _, class := range m.Classes {
		names = append(names, string(m.Output)+"_"+class)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, TableError{fmt.Sprintf("the query would have two columns %q: say with --id which columns of the table it keeps, each once and none of an answer's name", name)}
		}
	}
	h, rest := m.head()
	most := len(q.keep) + max(len(m.Columns), 2*len(h.numbers)+len(h.choices))
	for _, w := range m.widths()[1:] {
		most = max(most, len(q.keep)+w+1)
	}
	if most > mostSQLColumns {
		return nil, fmt.Errorf("export: the query would need %d columns, databases allow about %d: use r or onnx", most, mostSQLColumns)
	}
	q.WriteString(m.comment("-- "))
	fmt.Fprintf(&q, "-- Runs on PostgreSQL 12 and SQLite 3.35 (with mathematical functions) or newer.\n")
	q.WriteString("WITH ")
	q.cells(t.Name)
	q.head(h)
	from := "added"
	width := len(h.offset)
	for i, s := range rest {
		name := fmt.Sprintf("step%d", i+1)
		width = q.step(s, name, from, width)
		from = name
	}
	q.answer(from, width)
	return []byte(q.String()), nil
}

// query builds a SELECT. Kept columns are called k1, k2, … inside the SELECT, so that their names
// cannot collide with the names that query makes.
type query struct {
	Model
	strings.Builder
	keep []string
}

// sqlName quotes an identifier, and sqlText a text. Only the quote character can end either: in
// both databases, as in the standard, a backslash is an ordinary character.
func sqlName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func sqlText(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

func sqlTexts(all []string) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = sqlText(s)
	}
	return strings.Join(out, ", ")
}

func (q *query) part(name, from string, columns []string) {
	if name != "cells" {
		q.WriteString(",\n")
	}
	fmt.Fprintf(q, "%s AS MATERIALIZED (\n  SELECT %s\n  FROM %s\n)", name,
		strings.Join(append(q.kept(), columns...), ",\n    "), from)
}

func (q *query) kept() (all []string) {
	for i := range q.keep {
		all = append(all, fmt.Sprintf("k%d", i+1))
	}
	return all
}

// cells reads the table. It writes records."name", because SQLite reads an unknown "name" alone as
// a text.
func (q *query) cells(table string) {
	var columns []string
	for i, name := range q.keep {
		columns = append(columns, fmt.Sprintf("records.%s AS k%d", sqlName(name), i+1))
	}
	for i, c := range q.Columns {
		columns = append(columns, fmt.Sprintf("COALESCE(TRIM(CAST(records.%s AS TEXT)), '') AS c%d", sqlName(c.Name), i+1))
	}
	parts := strings.Split(table, ".")
	for i, p := range parts {
		parts[i] = sqlName(p)
	}
	fmt.Fprintf(q, "cells AS MATERIALIZED (\n  SELECT %s\n  FROM %s AS records\n)", strings.Join(columns, ",\n    "), strings.Join(parts, "."))
}

func (q *query) head(h head) {
	place := map[string]string{} // for each column of the model, the query's name of its cells
	for i, c := range q.Columns {
		place[c.Name] = fmt.Sprintf("c%d", i+1)
	}
	var read, encoded []string
	for _, t := range h.choices {
		read, encoded = append(read, place[t.Name]), append(encoded, place[t.Name])
	}
	for i, t := range h.numbers {
		c, n := place[t.Name], fmt.Sprintf("n%d", i+1)
		// A text is read as a number if it has only digits and . e E + −, and at least one digit.
		read = append(read, fmt.Sprintf("CASE WHEN %[1]s IN (%[2]s) OR RTRIM(%[1]s, '0123456789.eE+-') <> '' OR RTRIM(%[1]s, '.eE+-') = '' THEN NULL ELSE CAST(%[1]s AS DOUBLE PRECISION) END AS %[3]s", c, sqlTexts(writings(q.Missing)), n))
		low, high, value := t.Min, t.Max, n
		if t.Log {
			low, high, value = math.Log1p(t.Min), math.Log1p(t.Max), fmt.Sprintf("LN(1 + %s)", n)
		}
		scaled := fmt.Sprintf("CASE WHEN %[1]s IS NULL THEN 0.5 WHEN %[1]s <= %[2]s THEN 0.0 WHEN %[1]s >= %[3]s THEN 1.0 ELSE (%[4]s - %[5]s) / %[6]s END", n, real(t.Min), real(t.Max), value, real(low), real(high-low))
		encoded = append(encoded, fmt.Sprintf("CAST(%s AS DOUBLE PRECISION) AS x%d", scaled, i+1))
		if t.flag != nil {
			encoded = append(encoded,
				fmt.Sprintf("CASE WHEN %s IS NULL THEN 1 ELSE 0 END AS m%d", n, i+1))
		}
	}
	q.part("numbers", "cells", read)
	q.part("encoded", "numbers", encoded)
	out := make([]string, len(h.offset))
	for j, offset := range h.offset {
		terms := []string{real(offset)}
		for i, t := range h.numbers {
			if t.coef[j] != 0 {
				x := fmt.Sprintf("x%d", i+1)
				if t.standard {
					u := fmt.Sprintf("(%s - %s) * %s", x, real(t.mean), real(t.factor))
					x = fmt.Sprintf("CASE WHEN %[1]s < %[3]s THEN %[3]s WHEN %[1]s > %[2]s THEN %[2]s ELSE %[1]s END", u, real(t.cut), real(-t.cut))
				}
				terms = append(terms, fmt.Sprintf("%s * %s", real(t.coef[j]), x))
			}
			if t.flag != nil && t.flag[j] != 0 {
				terms = append(terms, fmt.Sprintf("%s * m%d", real(t.flag[j]), i+1))
			}
		}
		for _, t := range h.choices {
			var cases strings.Builder
			for _, l := range t.levels {
				if l.adds[j] != 0 {
					fmt.Fprintf(&cases, " WHEN %s IN (%s) THEN %s", place[t.Name],
						sqlTexts(l.texts), real(l.adds[j]))
				}
			}
			if cases.Len() > 0 {
				terms = append(terms, "CASE"+cases.String()+" ELSE 0 END")
			}
		}
		out[j] = fmt.Sprintf("CAST(%s AS DOUBLE PRECISION) AS y%d", sum(terms), j+1)
	}
	q.part("added", "encoded", out)
}

func (q *query) step(s Step, name, from string, width int) int {
	var out []string
	y := func(i int) string { return fmt.Sprintf("y%d", i+1) }
	add := func(format string, args ...any) {
		out = append(out, fmt.Sprintf(format, args...)+fmt.Sprintf(" AS y%d", len(out)+1))
	}
	switch s.Op {
	case Linear:
		for k, offset := range s.Offset {
			terms := []string{real(offset)}
			for i, row := range s.Matrix {
				if row[k] != 0 {
					terms = append(terms, fmt.Sprintf("%s * %s", real(row[k]), y(i)))
				}
			}
			add("CAST(%s AS DOUBLE PRECISION)", sum(terms))
		}
	case Standardise:
		for i := range width {
			u := fmt.Sprintf("(%s - %s) * %s", y(i), real(s.Mean[i]), real(s.Factor[i]))
			add("CASE WHEN %[1]s < %[3]s THEN %[3]s WHEN %[1]s > %[2]s THEN %[2]s ELSE %[1]s END", u, real(s.Cut), real(-s.Cut))
		}
	case ShrinkToBall:
		var all, squares []string
		for i := range width {
			all, squares = append(all, y(i)), append(squares, fmt.Sprintf("%[1]s * %[1]s", y(i)))
		}
		q.part(name+"norm", from, append(all, fmt.Sprintf("SQRT(%s) AS norm", sum(squares))))
		for i := range width {
			add("%s / CASE WHEN norm > 1 THEN norm ELSE 1 END", y(i))
		}
		from = name + "norm"
	}
	q.part(name, from, out)
	return len(out)
}

// mostExponent keeps EXP within double precision, because PostgreSQL fails beyond. Cutting at
// e^−700 changes no probability.
const mostExponent = 700

func (q *query) answer(from string, classes int) {
	var out []string
	for i, name := range q.keep {
		out = append(out, fmt.Sprintf("k%d AS %s", i+1, sqlName(name)))
	}
	var best strings.Builder
	for k := range classes - 1 {
		var over []string
		for j := range classes {
			if j < k {
				over = append(over, fmt.Sprintf("y%d > y%d", k+1, j+1))
			} else if j > k {
				over = append(over, fmt.Sprintf("y%d >= y%d", k+1, j+1))
			}
		}
		fmt.Fprintf(&best, " WHEN %s THEN %s", strings.Join(over, " AND "), sqlText(q.Classes[k]))
	}
	out = append(out, fmt.Sprintf("CASE%s ELSE %s END AS predicted", best.String(),
		sqlText(q.Classes[classes-1])))
	for k, class := range q.Classes {
		name := sqlName(string(q.Output) + "_" + class)
		if q.scores() {
			out = append(out, fmt.Sprintf("y%d AS %s", k+1, name))
			continue
		}
		var terms []string
		for j := range classes {
			if j == k {
				terms = append(terms, "1")
				continue
			}
			d := fmt.Sprintf("y%d - y%d", j+1, k+1)
			terms = append(terms, fmt.Sprintf("EXP(CASE WHEN %[1]s > %[2]d THEN %[2]d WHEN %[1]s < -%[2]d THEN -%[2]d ELSE %[1]s END)", d, mostExponent))
		}
		out = append(out, fmt.Sprintf("1 / (%s) AS %s", sum(terms), name))
	}
	fmt.Fprintf(q, "\nSELECT %s\nFROM %s;\n", strings.Join(out, ",\n  "), from)
}

// real writes a number with a point or exponent, so that no database reads it as an integer. It
// puts a negative number in brackets, because two minus signs would begin a comment.
func real(v float64) string {
	text := number(v)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	if v < 0 {
		return "(" + text + ")"
	}
	return text
}

// sum adds terms in groups, because SQLite counts each term of a + b + c + … as one of at most
// 1,000 levels.
func sum(terms []string) string {
	const group = 50
	if len(terms) <= group {
		return strings.Join(terms, " + ")
	}
	var parts []string
	for len(terms) > 0 {
		n := min(group, len(terms))
		parts = append(parts, "("+strings.Join(terms[:n], " + ")+")")
		terms = terms[n:]
	}
	return sum(parts)
}
