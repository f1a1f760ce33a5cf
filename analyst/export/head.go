package export

import (
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
)

// head is the beginning of a model, up to its first linear step: what each column adds to each
// output of that step. Each level of a text column adds constants, each number a multiple of
// itself.
type head struct {
	// offset is the output if numbers add nothing, no cell is missing, and no text is a known
	// level.
	offset  []float64
	numbers []numberTerm
	choices []choiceTerm
}

// numberTerm adds coef · v, where v is the encoded number. If standard is set, v is (encoded number
// − mean)·factor, limited to −cut…cut. A missing cell also adds flag (nil: nothing).
type numberTerm struct {
	Column
	standard          bool
	mean, factor, cut float64
	coef, flag        []float64
}

type choiceTerm struct {
	Column
	levels []level
}

type level struct {
	texts []string
	adds  []float64
}

// head splits a model after its first linear step.
func (m Model) head() (h head, rest []Step) {
	steps := m.Steps
	var standard Step
	if steps[0].Op == Standardise {
		standard, steps = steps[0], steps[1:]
	}
	first := steps[0] // the first step is linear (stepsOf)
	h.offset = slices.Clone(first.Offset)
	// value returns an encoded number after standardisation.
	value := func(at int, v float64) float64 {
		if standard.Op == "" {
			return v
		}
		return min(max((v-standard.Mean[at])*standard.Factor[at], -standard.Cut), standard.Cut)
	}
	add := func(to []float64, at int, by float64) {
		for j, w := range first.Matrix[at] {
			to[j] += by * w
		}
	}
	width := len(first.Offset)
	for _, c := range m.Columns {
		if c.Kind == dataset.Categorical {
			h.choices = append(h.choices, choice(c, width, h.offset, value, add))
			continue
		}
		t := numberTerm{Column: c, coef: slices.Clone(first.Matrix[c.At])}
		if standard.Op != "" {
			mean, factor := standard.Mean[c.At], standard.Factor[c.At]
			if low, high := (0-mean)*factor, (1-mean)*factor; min(low, high) >= -standard.Cut &&
				max(low, high) <= standard.Cut {
				// no number reaches the cut, so coef and offset can include the standardisation
				add(h.offset, c.At, -mean*factor)
				for j := range t.coef {
					t.coef[j] *= factor
				}
			} else {
				t.standard, t.mean, t.factor, t.cut = true, mean, factor, standard.Cut
			}
		}
		if c.MissingFlag {
			t.flag = make([]float64, width)
			off := value(c.At+1, 0)
			add(h.offset, c.At+1, off)
			add(t.flag, c.At+1, value(c.At+1, 1)-off)
		}
		h.numbers = append(h.numbers, t)
	}
	return h, steps[1:]
}

// choice adds to offset what an unknown text adds. The returned term has each level's difference
// from an unknown text.
func choice(c Column, width int, offset []float64, value func(int, float64) float64,
	add func([]float64, int, float64)) choiceTerm {
	t := choiceTerm{Column: c}
	move := func(to []float64, at int, sign float64) {
		add(to, at, sign*(value(at, 1)-value(at, 0)))
	}
	for at := c.At; at < c.At+c.code.Width; at++ {
		add(offset, at, value(at, 0))
	}
	move(offset, c.OtherIndex, 1)
	for i, texts := range c.texts() {
		l := level{texts: texts, adds: make([]float64, width)}
		if c.At+i != c.OtherIndex {
			move(l.adds, c.At+i, 1)
			move(l.adds, c.OtherIndex, -1)
		}
		t.levels = append(t.levels, l)
	}
	return t
}

// texts lists the texts that mean each level, for languages that can only compare texts: the level
// itself and, for a number, its shortest forms with and without ".0".
func (c Column) texts() [][]string {
	all, taken := make([][]string, len(c.Levels)), map[string]bool{}
	for _, l := range c.Levels {
		taken[l] = true
	}
	for i, l := range c.Levels {
		all[i] = []string{l}
		for _, text := range writings(l) {
			if k, ok := c.code.Level(text); ok && k == i && !taken[text] {
				taken[text] = true
				all[i] = append(all[i], text)
			}
		}
	}
	return all
}

func writings(text string) []string {
	v, ok := dataset.ParseNumber(text)
	if !ok {
		return []string{text}
	}
	whole := strconv.FormatFloat(v+0, 'f', -1, 64)
	all := []string{text, strconv.FormatFloat(v+0, 'g', -1, 64), whole}
	if !strings.Contains(whole, ".") {
		all = append(all, whole+".0")
	}
	slices.Sort(all)
	return slices.Compact(all)
}
