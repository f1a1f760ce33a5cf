package files

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"caucus/dataset"
)

// What stands around the records of a table, or cuts them.
const (
	ProblemEmptyRow    dataset.Problem = "empty rows, skipped"
	ProblemEmptyRecord dataset.Problem = "empty rows, read as empty records"
	ProblemJoined      dataset.Problem = "a line break in a text without quotes, taken for a part of " +
		"the text"
	ProblemNotJoined dataset.Problem = "a line break in a text without quotes, which makes two records " +
		"of one: export with quotes"
	ProblemTotals dataset.Problem = "rows that begin as totals do (Sum, Mean, N), read as records: if " +
		"they are none, leave them out by comment or last_row"
	ProblemFooter dataset.Problem = "last rows without cells that the rows before have, read as records: " +
		"if they are totals, a footer or a second table, leave them out by last_row"
	ProblemBelowLast dataset.Problem = "rows below last_row, left out"
	ProblemNoComment dataset.Problem = "begins no row: nothing is left out by it"
)

// totals are the first or last words, in lower case, of the first cell of a row that sums up
// others.
var totals = []string{"sum", "mean", "total", "average", "median", "count", "records", "n", "sd",
	"std", "iqr", "summe", "gesamt", "mittelwert", "anzahl", "moyenne", "somme", "media", "suma", "totale",
	"totaal"}

// around leaves out what is no record of a table, and counts it. Without person, what it makes of
// a row depends on this row and its place alone, as Open promises: it looks ahead only to count.
type around struct {
	dataset.Rows
	text      interface{ Held() int } // the rows, if they are of text
	w         TextFormat
	person    bool
	ahead     []placed
	err       error // of the reader, after the rows ahead
	place     int
	like      []string // the last values of the columns
	commented bool
	odd       dataset.RowRemarks
	told      []dataset.Remark // the reader's remarks up to last_row
	tail      tail
}

// placed is a row that was read: its cells, and how many of them the file has.
type placed struct {
	cells       []string
	ok          bool
	place, held int
}

func (a *around) Place() int { return a.place }

// Remarks counts short rows anew: the lines of a broken text are none.
func (a *around) Remarks() []dataset.Remark {
	told := a.told
	if told == nil {
		told = a.Rows.Remarks()
	}
	out := slices.DeleteFunc(slices.Clone(told), func(r dataset.Remark) bool {
		return r.Problem == dataset.ProblemShortRow
	})
	for _, r := range a.odd {
		if r.Problem != ProblemTotals || r.Count <= 1+a.tail.rows/20 {
			out = append(out, r)
		}
	}
	if a.tail.count > 0 {
		out = append(out, dataset.Remark{Problem: ProblemFooter, Count: a.tail.count,
			First: a.tail.first})
	}
	if s, ok := a.Rows.(interface{ Skipped() bool }); ok && a.w.Comment != "" && !a.commented &&
		!s.Skipped() {
		column := fmt.Sprintf("comment %q", a.w.Comment)
		out = append(out, dataset.Remark{Column: column, Problem: ProblemNoComment})
	}
	return out
}

func (a *around) Next() ([]string, bool, error) {
	for {
		var row placed
		if err := a.take(&row); err != nil {
			return nil, false, err
		}
		a.place = row.place
		if a.w.LastRow > 0 && a.place > a.w.LastRow {
			return nil, false, a.leave()
		}
		if !row.ok {
			return nil, false, nil
		}
		first, full := 0, !slices.Contains(row.cells, "")
		if !full {
			first = slices.IndexFunc(row.cells, func(cell string) bool { return cell != "" })
		}
		switch {
		case first < 0 && len(row.cells) > 1 && a.person:
			a.odd.Add(ProblemEmptyRow, a.place)
			continue
		case first < 0 && len(row.cells) > 1:
			a.odd.Add(ProblemEmptyRecord, a.place)
			return row.cells, true, nil
		case first > 0 && a.w.Comment != "" && strings.HasPrefix(row.cells[first], a.w.Comment):
			a.commented = true
			continue
		case row.held < len(row.cells):
			row.cells = a.whole(row)
		case full: // as most rows are
			copy(a.like, row.cells)
		default:
			for i, cell := range row.cells {
				if cell != "" {
					a.like[i] = cell
				}
			}
		}
		if first >= 0 && isTotal(row.cells[first]) {
			a.odd.Add(ProblemTotals, a.place)
		}
		a.tail.add(row.cells, a.place, full)
		return row.cells, true, nil
	}
}

// take gives the next row, which is ahead or not read yet.
func (a *around) take(row *placed) error {
	if len(a.ahead) > 0 {
		*row, a.ahead = a.ahead[0], a.ahead[1:]
		return nil
	}
	return a.read(row)
}

func (a *around) read(row *placed) error {
	if a.err == nil {
		row.cells, row.ok, a.err = a.Rows.Next()
		row.place, row.held = a.Rows.Place(), len(row.cells)
	}
	if a.text != nil {
		row.held = min(row.held, a.text.Held())
	}
	return a.err
}

// leave counts the rows up to the end.
func (a *around) leave() (err error) {
	a.told = append([]dataset.Remark{}, a.Rows.Remarks()...)
	for err == nil {
		a.odd.Add(ProblemBelowLast, a.place)
		err = a.take(&placed{})
	}
	return err
}

// maxBroken bounds the lines of a text without quotes.
const maxBroken = 10

// whole returns the cells of a short row. If the next rows are short too and go on in the middle
// of its last text, so that together they have a cell for each column, whole joins them.
func (a *around) whole(row placed) []string {
	short := slices.Clone(row.cells)
	cells := slices.Clone(row.cells[:row.held])
	last := row
	for i := 0; i < maxBroken; i++ {
		if i == len(a.ahead) {
			var next placed
			if err := a.read(&next); err != nil {
				break
			}
			next.cells = slices.Clone(next.cells)
			a.ahead = append(a.ahead, next)
		}
		next := a.ahead[i]
		end := len(cells) - 1
		if !next.ok || next.place != last.place+1 || end+next.held > len(short) ||
			next.held == len(short) || !isWord(cells[end]) || !isWord(next.cells[0]) {
			break
		}
		last = next
		cells[end] += "\n" + next.cells[0]
		cells = append(cells, next.cells[1:next.held]...)
		if len(cells) < len(short) {
			continue
		}
		begins := shape(next.cells[0]) == shape(a.like[0]) && a.fits(next.cells[:next.held])
		if begins || !a.fits(cells) {
			break
		}
		if !a.person {
			a.odd.Add(ProblemNotJoined, row.place)
			break
		}
		a.odd.Add(ProblemJoined, row.place)
		a.ahead = a.ahead[i+1:]
		return cells
	}
	a.odd.Add(dataset.ProblemShortRow, row.place)
	return short
}

// fits reports whether cells are numbers in the columns that have numbers, and only there.
func (a *around) fits(cells []string) bool {
	for i, cell := range cells {
		if cell != "" && a.like[i] != "" && isNumber(cell) != isNumber(a.like[i]) {
			return false
		}
	}
	return true
}

func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64)
	return err == nil
}

func isWord(cell string) bool { return cell != "" && !isNumber(cell) }

// shape writes a text's runs of letters as a, and of digits as 9: P12 and Q7 are a9.
func shape(text string) string {
	var out []rune
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			r = 'a'
		case unicode.IsDigit(r):
			r = '9'
		}
		if len(out) == 0 || out[len(out)-1] != r {
			out = append(out, r)
		}
	}
	return string(out)
}

func isTotal(cell string) bool {
	if cell == "" || cell[0] <= '9' { // most first cells are numbers
		return false
	}
	cell, _, _ = strings.Cut(cell, "=") // n = 300
	cell = strings.Trim(cell, ":. []()")
	if n := len(cell); n == 0 || n > 24 || cell[n-1] <= '9' {
		return false
	}
	first, _, _ := strings.Cut(cell, " ")
	last := cell[strings.LastIndexByte(cell, ' ')+1:]
	return slices.ContainsFunc(totals, func(word string) bool {
		return strings.EqualFold(word, first) || strings.EqualFold(word, last)
	})
}

// tail finds the last rows of a table that lack two cells in columns where nearly all rows before
// have one. They are at most a quarter of those.
type tail struct {
	rows, first, count int   // before these last rows; the first of them; how many
	empty, lacking     []int // for each column, empty cells among the rows, and among the last
}

func (t *tail) add(cells []string, place int, full bool) {
	if t.empty == nil {
		t.empty, t.lacking = make([]int, len(cells)), make([]int, len(cells))
	}
	if t.count == 0 && full { // nothing below would change but the number
		t.rows++
		return
	}
	lacks := 0
	for i, cell := range cells {
		if cell == "" && t.empty[i] <= t.rows/50 {
			lacks++
		}
	}
	into := t.empty
	if lacks >= 2 && t.rows >= 10 && t.count < max(5, t.rows/4) {
		if t.count++; t.count == 1 {
			t.first = place
		}
		into = t.lacking
	} else {
		if t.count > 0 {
			for i, n := range t.lacking {
				t.empty[i] += n
			}
			clear(t.lacking)
		}
		t.rows, t.count = t.rows+t.count+1, 0
	}
	for i, cell := range cells {
		if cell == "" {
			into[i]++
		}
	}
}
