package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
)

// longestScore bounds a score's line: 17 digits with sign, exponent and line end are 25 bytes.
const longestScore = 40

// Score runs the program on rows (N×Dim encoded) without labels, and returns a probability for
// each.
//
// The program runs in Dir as Command RECORDS SCHEMA, with RECORDS like POOL in Vote, and the same
// SCHEMA. It prints one line for each row, in order: a decimal number from 0 to 1. Errors are as
// for Vote.
func (p Program) Score(ctx context.Context, s dataset.Schema, rows *mat.Dense) ([]float64, error) {
	s.Missing = "" // the program gets empty cells for missing values
	n, _ := rows.Dims()
	answer, err := p.ask(ctx, "scorer", (n+1)*longestScore, func(dir string) error {
		if err := writeCSV(filepath.Join(dir, recordsFile), s, rows, "", nil); err != nil {
			return err
		}
		return writeSchema(dir, s)
	}, recordsFile, schemaFile)
	if err != nil {
		return nil, err
	}
	return parseScores(answer, n)
}

func parseScores(answer []byte, rows int) ([]float64, error) {
	lines := linesOf(answer)
	if len(lines) != rows {
		return nil, fmt.Errorf("scorer: it answered %d lines for %d records: print one number from 0 to 1 a line, and nothing else, on the standard output", len(lines), rows)
	}
	scores := make([]float64, rows)
	for i, line := range lines {
		text := strings.TrimSuffix(string(line), "\r")
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || !(p >= 0 && p <= 1) {
			return nil, fmt.Errorf("scorer: line %d of its answer, %.60q, is no number from 0 to 1", i+1, text)
		}
		scores[i] = p
	}
	return scores, nil
}
