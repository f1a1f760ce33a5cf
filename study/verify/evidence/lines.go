package evidence

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"caucus/privacy"
)

// WriteLines writes a ledger's lines for others to check, one JSON object on each line.
func WriteLines(w io.Writer, lines []privacy.Line) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	for _, l := range lines {
		if err := e.Encode(l); err != nil {
			return fmt.Errorf("write lines: %w", err)
		}
	}
	return b.Flush()
}

// ReadLines reads a whole ledger that WriteLines wrote, and calls fn for each valid line. An error
// of fn ends it.
func ReadLines(r io.Reader, fn func(privacy.Line) error) (*privacy.LedgerChain, error) {
	chain := privacy.NewLedgerChain()
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxExportedLine)
	for n := 1; in.Scan(); n++ {
		var l privacy.Line
		err := json.Unmarshal(in.Bytes(), &l)
		if err == nil {
			err = chain.AddLine(l)
		}
		if err == nil {
			err = fn(l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d (entry %d): %w", n, l.Sequence, err)
		}
	}
	return chain, in.Err()
}

// maxExportedLine bounds a line's bytes. A study's line has some hundred, a reconciliation of many
// costs more.
const maxExportedLine = 1 << 20
