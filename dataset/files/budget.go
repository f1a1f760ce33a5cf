package files

import (
	"fmt"

	"caucus/dataset"
)

// A file that a person opens may come from anybody, and a few bytes of it may ask for all memory of
// the machine. So each file has one budget, by its size: leastBudget + timesSize · size bytes. It
// bounds, each by itself,
//
//   - the bytes to which the file unpacks,
//   - the bytes of memory that its reader holds (shared texts, pages, footers),
//   - the bytes of all cells that it gives, where an empty cell counts one.
//
// The last bounds what callers hold that keep all cells, and time, because a row's empty cells and
// texts that cells share take no bytes in a file. Real files stay far below: text packs to a
// twentieth, and a workbook of 10,000 records takes a megabyte.
//
// A text that a study reads (Open) has no such budget, because a refusal may depend on one record.
const (
	leastBudget = 512 << 20
	timesSize   = 64
	maxText     = 16 << 30 // of unpacked text: a hundred million records of 160 characters
)

// budget is what is left of a number of bytes.
type budget struct{ left, most int64 }

func budgetOf(size int64) budget {
	most := min(leastBudget+timesSize*min(size, maxText), maxText)
	return budget{most, most}
}

// take counts n bytes, and fails if fewer are left.
func (b *budget) take(n int64) error {
	if b.left -= n; b.left < 0 {
		return &tooMuch{b.most}
	}
	return nil
}

type tooMuch struct{ most int64 }

func (t *tooMuch) Error() string {
	return fmt.Sprintf("it becomes more than %d MiB when it is read, which no usual file of its size "+
		"does: if it is right, split it, or save it as CSV without gzip", t.most>>20)
}

// within counts the bytes of all cells of a file.
type within struct {
	dataset.Rows
	budget
}

func (w *within) Next() (cells []string, ok bool, err error) {
	if cells, ok, err = w.Rows.Next(); err == nil {
		n := len(cells)
		for _, cell := range cells {
			n += len(cell)
		}
		err = w.take(int64(n))
	}
	return cells, ok, err
}
