package dataset

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// Condition is a true or false question about a table's row, such as income == ">50K" and age >=
// 30. The zero value is not valid; use [ParseCondition].
type Condition struct {
	text string
	root clause
}

// String returns the text from which the condition was parsed.
func (c Condition) String() string { return c.text }

// Columns lists the columns that the condition reads, each once.
func (c Condition) Columns() []string {
	var all []string
	seen := map[string]bool{}
	c.root.visit(func(of comparison) {
		if name := of.column; !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	})
	return all
}

// Comparisons counts the condition's comparisons. Each may read every row.
func (c Condition) Comparisons() (n int) {
	c.root.visit(func(comparison) { n++ })
	return n
}

// Rows answers the condition for every row. An absent column is an error that lists the table's
// columns. Two numbers are compared as numbers. Otherwise == and != compare texts, and <, <=, >, >=
// are false. Spaces around a cell are ignored.
func (c Condition) Rows(t *Table) ([]bool, error) {
	for _, name := range c.Columns() {
		if !t.Has(name) {
			return nil, fmt.Errorf("answer %q: no column %q; the table has %s", c.text, name,
				NamesOrCount(t.Columns()))
		}
	}
	return c.root.rows(t), nil
}

type answers interface{ answer(comparison) []bool }

type clause interface {
	rows(answers) []bool
	visit(func(comparison))
}

type comparison struct{ column, op, value string }

func (c comparison) visit(f func(comparison)) { f(c) }

func (c comparison) rows(t answers) []bool { return t.answer(c) }

// answer compares each distinct value of the column once.
func (t *Table) answer(c comparison) []bool {
	col := t.column(c.column)
	holds := make([]bool, len(col.values))
	b, isNumber := ParseNumber(c.value)
	for i, v := range col.values {
		holds[i] = c.holds(strings.TrimSpace(v), b, isNumber)
	}
	out := make([]bool, t.rows)
	for i := range out {
		out[i] = holds[col.codes.at(i)]
	}
	return out
}

// holds reports whether the comparison is true of a cell. b is the comparison's value as a number,
// if isNumber.
func (c comparison) holds(cell string, b float64, isNumber bool) bool {
	var a float64
	numbers := isNumber
	if numbers {
		a, numbers = ParseNumber(cell)
	}
	switch {
	case c.op == "==" && cell == c.value:
		return true
	case c.op == "!=" && cell == c.value:
		return false
	case !numbers:
		a, b = math.NaN(), math.NaN()
	}
	return c.holdsNumber(a, b)
}

// holdsNumber compares numbers. NaN means that there is no number, and then only != holds.
func (c comparison) holdsNumber(a, b float64) bool {
	switch c.op {
	case "==":
		return a == b
	case "!=":
		return a != b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}

type junction struct {
	and         bool
	left, right clause
}

func (j junction) visit(f func(comparison)) { j.left.visit(f); j.right.visit(f) }

func (j junction) rows(t answers) []bool {
	out, right := j.left.rows(t), j.right.rows(t)
	for i, r := range right {
		if j.and {
			out[i] = out[i] && r
		} else {
			out[i] = out[i] || r
		}
	}
	return out
}

type negation struct{ of clause }

func (n negation) visit(f func(comparison)) { n.of.visit(f) }

func (n negation) rows(t answers) []bool {
	out := n.of.rows(t)
	for i := range out {
		out[i] = !out[i]
	}
	return out
}

const (
	maxConditionBytes = 4096
	maxConditionDepth = 64
)

// ParseCondition reads a condition:
//
//	condition = term { "or" term }
//	term      = factor { "and" factor }
//	factor    = "not" factor | "(" condition ")" | column op value
//	op        = "==" | "!=" | "<" | "<=" | ">" | ">="
//
// Columns and values are words, or texts in double or single quotes. A word may hold anything but
// spaces, quotes, parentheses and the signs of op.
func ParseCondition(text string) (Condition, error) {
	fail := func(err error) (Condition, error) {
		return Condition{}, fmt.Errorf("parse condition %q: %w; write for example: income == \">50K\" and age >= 30", text, err)
	}
	if len(text) > maxConditionBytes {
		return Condition{}, fmt.Errorf("parse condition: it is longer than %d bytes",
			maxConditionBytes)
	}
	tokens, err := scanCondition(text)
	if err != nil {
		return fail(err)
	}
	p := conditionParser{tokens: tokens}
	root, err := p.any(0)
	if err != nil {
		return fail(err)
	}
	if len(p.tokens) > 0 {
		return fail(fmt.Errorf("%q is left over", p.tokens[0].text))
	}
	return Condition{text, root}, nil
}

type token struct {
	text string
	kind tokenKind
}

type tokenKind uint8

const (
	signToken tokenKind = iota
	wordToken
	quotedToken
)

func scanCondition(text string) ([]token, error) {
	var out []token
	for len(text) > 0 {
		c := text[0]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			text = text[1:]
		case c == '"' || c == '\'':
			end := strings.IndexByte(text[1:], c)
			if end < 0 {
				return nil, fmt.Errorf("a quote %c is not closed", c)
			}
			out = append(out, token{text[1 : 1+end], quotedToken})
			text = text[end+2:]
		case c == '(' || c == ')':
			out = append(out, token{text[:1], signToken})
			text = text[1:]
		case strings.IndexByte("=!<>", c) >= 0:
			n := 1
			if len(text) > 1 && text[1] == '=' {
				n = 2
			}
			if op := text[:n]; op == "=" || op == "!" {
				return nil, fmt.Errorf("%q is no comparison: use ==, !=, <, <=, > or >=", op)
			}
			out = append(out, token{text[:n], signToken})
			text = text[n:]
		default:
			n := strings.IndexFunc(text, func(r rune) bool {
				return unicode.IsSpace(r) || strings.ContainsRune("\"'()=!<>", r)
			})
			if n < 0 {
				n = len(text)
			}
			if n == 0 { // text begins with another kind of space
				n = len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
			} else {
				out = append(out, token{text[:n], wordToken})
			}
			text = text[n:]
		}
	}
	return out, nil
}

type conditionParser struct{ tokens []token }

func (c *conditionParser) take(text string, kind tokenKind) bool {
	if len(c.tokens) > 0 && c.tokens[0].kind == kind && c.tokens[0].text == text {
		c.tokens = c.tokens[1:]
		return true
	}
	return false
}

func (c *conditionParser) any(depth int) (clause, error) {
	left, err := c.all(depth)
	for err == nil && c.take("or", wordToken) {
		var right clause
		right, err = c.all(depth)
		left = junction{false, left, right}
	}
	return left, err
}

func (c *conditionParser) all(depth int) (clause, error) {
	left, err := c.factor(depth)
	for err == nil && c.take("and", wordToken) {
		var right clause
		right, err = c.factor(depth)
		left = junction{true, left, right}
	}
	return left, err
}

func (c *conditionParser) factor(depth int) (clause, error) {
	if depth > maxConditionDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxConditionDepth)
	}
	if c.take("not", wordToken) {
		of, err := c.factor(depth + 1)
		return negation{of}, err
	}
	if c.take("(", signToken) {
		inner, err := c.any(depth + 1)
		if err == nil && !c.take(")", signToken) {
			err = errors.New("a parenthesis is not closed")
		}
		return inner, err
	}
	if len(c.tokens) < 3 {
		return nil, errors.New("a comparison needs a column, a sign and a value")
	}
	column, op, value := c.tokens[0], c.tokens[1], c.tokens[2]
	if column.kind == signToken || value.kind == signToken || op.kind != signToken ||
		op.text == "(" || op.text == ")" {
		return nil, fmt.Errorf("%q %q %q is no comparison of a column with a value", column.text, op.text, value.text)
	}
	c.tokens = c.tokens[3:]
	return comparison{column.text, op.text, value.text}, nil
}
