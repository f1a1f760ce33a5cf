package dataset

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"caucus/internal/decimal"
)

// encoded is a cell's encoding: a value in one column, 0 in the others. The value is NaN for no
// number.
type encoded struct {
	value float64
	at    int32
	odd   oddity
}

type oddity uint8

const (
	fine oddity = iota
	clamped
	missing
	notANumber
	unknownLevel
	unknownLabel
	noText
	oddities
)

var problemOf = [oddities]Problem{
	clamped: ProblemClamped, missing: ProblemMissing, notANumber: ProblemNotANumber, unknownLevel: ProblemUnknownLevel,
	unknownLabel: ProblemUnknownLabel, noText: ProblemNotText,
}

type cellEncoder struct {
	schema  *Schema
	feature *Feature
	first   int
	levels  levels
	other   int // column in X of unknown texts
}

func newCellEncoder(s *Schema, f *Feature, first int) cellEncoder {
	e := cellEncoder{schema: s, feature: f, first: first}
	if f.Kind == Categorical {
		e.levels = newLevels(f.Levels)
		e.other = first + len(f.Levels)
		if i, ok := e.levels.exact[otherLevel]; ok {
			e.other = first + i
		}
	}
	return e
}

func (c *cellEncoder) encode(text string) encoded {
	if c.feature.Kind == Categorical {
		if i, ok := c.levels.find(text); ok {
			return encoded{value: 1, at: int32(c.first + i)}
		}
		odd := unknownLevel
		if c.schema.isMissing(text) {
			odd = missing
		}
		return encoded{value: 1, at: int32(c.other), odd: odd}
	}
	v, odd := c.number(text)
	return encoded{value: c.feature.scale(v), at: int32(c.first), odd: odd}
}

// number reads a cell's number. It is NaN if the cell holds none.
func (c *cellEncoder) number(text string) (float64, oddity) {
	v, ok := ParseNumber(text)
	switch {
	case c.schema.isMissing(text):
		return math.NaN(), missing
	case !ok:
		return math.NaN(), notANumber
	case v < c.feature.Min || v > c.feature.Max:
		return v, clamped
	}
	return v, fine
}

const missingNumber = 0.5

// fill encodes a missing cell in a feature's columns. other is a text's column of other texts, 0
// for a number.
func (f *Feature) fill(to []float64, other int, mark bool) {
	switch {
	case f.Kind == Numeric && f.FlagMissing:
		to[0], to[1] = missingNumber, 1
	case mark:
		to[other] = math.NaN()
	case f.Kind == Numeric:
		to[0] = missingNumber
	default:
		to[other] = 1
	}
}

// Names of cells that count a text's column.
const (
	OtherOrMissing = "other or missing"
	MissingCell    = "missing"
)

// CellNames names the cells that count a text's column: its levels, other texts if other is no
// level, and missing texts. Without apart, other and missing texts share a cell.
func (f Feature) CellNames(apart bool) []string {
	names := slices.Clone(f.Levels)
	if f.width() > len(names) {
		names = append(names, otherLevel)
	}
	switch {
	case !apart:
		names[slices.Index(names, otherLevel)] = OtherOrMissing
	case slices.Contains(names, MissingCell): // a text of the files
		names = append(names, MissingCell+" (no text)")
	default:
		names = append(names, MissingCell)
	}
	return names
}

// scale clamps a finite number to the feature's bounds and maps it to [0,1]. NaN stays NaN.
func (f *Feature) scale(v float64) float64 {
	return min(max(f.Position(min(max(v, f.Min), f.Max)), 0), 1)
}

// Position returns where a number lies in its column: 0 at the feature's Min, 1 at its Max. It does
// not clamp.
func (f Feature) Position(v float64) float64 {
	lo, hi := f.Min, f.Max
	if f.Log {
		v, lo, hi = math.Log1p(v), math.Log1p(lo), math.Log1p(hi)
	}
	return (v - lo) / (hi - lo)
}

// Value is the inverse of Position.
func (f Feature) Value(position float64) float64 {
	if f.Log {
		lo := math.Log1p(f.Min)
		return math.Expm1(lo + position*(math.Log1p(f.Max)-lo))
	}
	return f.Min + position*(f.Max-f.Min)
}

func (s Schema) isMissing(text string) bool { return text == "" || text == s.Missing }

// levels maps texts to their index. Spaces around a text do not count. Another form of exactly the
// same number is found too ("3.0" for "3"; no exponents: 1E1 may be a code), and of the same
// letters: an accent may be a sign of its own (Unicode NFD, as macOS writes names) or not (NFC).
type levels struct{ exact, number map[string]int }

func newLevels(names []string) levels {
	l := levels{exact: make(map[string]int, len(names)), number: make(map[string]int)}
	for i, name := range names {
		l.add(name, i)
	}
	return l
}

func (l levels) add(name string, i int) {
	l.exact[name] = i
	if composed := norm.NFC.String(strings.TrimSpace(name)); composed != name {
		if _, taken := l.exact[composed]; !taken {
			l.exact[composed] = i
		}
	}
	if n, ok := decimal.Canonical(name); ok {
		if _, taken := l.number[n]; !taken {
			l.number[n] = i
		}
	}
}

func (l levels) find(text string) (int, bool) {
	if i, ok := l.exact[text]; ok {
		return i, true
	}
	if i, ok := l.exact[norm.NFC.String(strings.TrimSpace(text))]; ok {
		return i, true
	}
	if len(l.number) == 0 {
		return 0, false
	}
	if n, ok := decimal.Canonical(text); ok {
		i, ok := l.number[n]
		return i, ok
	}
	return 0, false
}

// ParseNumber reads a cell's finite decimal number. It refuses forms that only Go's source code
// has: 1_0 is not 10, 0x1p4 is not 16.
func ParseNumber(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v-v == 0 && !HasGoNumberSyntax(text)
}

// HasGoNumberSyntax reports whether a number has a character (_ or x) that only Go's source code
// allows in numbers.
func HasGoNumberSyntax(text string) bool {
	for i := range len(text) {
		if c := text[i]; c == '_' || c == 'x' || c == 'X' {
			return true
		}
	}
	return false
}
