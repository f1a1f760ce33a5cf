package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/internal/csvfile"
)

// Program is the command line of a classifier (Vote) or scorer (Score), with limits.
type Program struct {
	// Command is the program and its first arguments; the paths of its files follow. A program name
	// without a folder is looked up on the path.
	Command []string
	// Timeout bounds the program's run; 0 is DefaultTimeout.
	Timeout time.Duration
	// Memory bounds the bytes of each process on Linux (CanLimitMemory); 0 is DefaultMemory.
	Memory int64
	// Dir is the working folder, "" for that of this process. File names in Command are relative to
	// it.
	Dir string
	// Scratch is the folder for the program's files; "" is the system's temporary folder.
	Scratch string
}

// Default limits: several times the needs of gradient boosting on 100,000 records in 100 columns.
const (
	DefaultTimeout = 10 * time.Minute
	DefaultMemory  = 4 << 30
)

const (
	recordsFile = "records.csv"
	poolFile    = "pool.csv"
	schemaFile  = "schema.json"
)

// grace bounds the wait for pipes that a killed program left open.
const grace = 2 * time.Second

// TimeLimit bounds the time of Vote and Score, without writing and reading files.
func (p Program) TimeLimit() time.Duration { return cmp.Or(p.Timeout, DefaultTimeout) + 2*grace }

// Validate checks the command line and limits alone: Timeout 100 ms to 24 h, Memory at least 16
// MiB, each 0 for its default. It does not look for the program (see Find).
func (p Program) Validate() error {
	switch {
	case len(p.Command) == 0 || p.Command[0] == "":
		return errors.New("command: name the program and its arguments, as in [python3, vote.py]")
	case p.Timeout != 0 && (p.Timeout < 100*time.Millisecond || p.Timeout > 24*time.Hour):
		return fmt.Errorf("timeout: %v: give 100ms to 24h", p.Timeout)
	case p.Memory != 0 && p.Memory < 16<<20:
		return fmt.Errorf("memory: %d bytes: give at least 16MiB", p.Memory)
	}
	return nil
}

// Find returns the program's path, or an error if it is absent.
func (p Program) Find() (string, error) {
	if err := p.Validate(); err != nil {
		return "", err
	}
	name := p.Command[0]
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(p.Dir, name)
	}
	path, err := exec.LookPath(name)
	// Go refuses a path relative to this folder, but this path was given on purpose
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be run: %w", p.Command[0], errors.Unwrap(err))
	}
	return path, nil
}

// Vote runs the program on labelled records (N×Dim encoded) and the rows of a pool (as wide), and
// returns the program's class for each row, 0..K-1.
//
// The program runs in Dir as Command RECORDS POOL SCHEMA, the paths of three files:
//   - RECORDS is CSV (comma, quotes where needed, UTF-8): a header with the schema's feature
//     columns in its order and the label column last; then one labelled record per line.
//   - POOL is CSV with the same columns except the label; one row per line.
//   - SCHEMA is JSON: {"label": {"column", "classes"}, "features": [{"column", "kind": "numeric",
//     "min", "max"}, {"column", "kind": "categorical", "levels"}]}, with all classes and levels,
//     also those that no record has.
//
// A number is in the schema's unit, clamped to its bounds and rounded to five digits of their
// range. A missing number is empty if the schema keeps missing values (missing: true), otherwise
// the middle of the bounds. A text is one of its levels or "other".
//
// The program prints one line for each row of the pool, in order: the class, by its name in the
// schema. A different number of lines, another text, a nonzero exit code or a timeout is an error
// that contains the end of the program's standard error. That text may contain data from the
// records: show it only to their owner.
func (p Program) Vote(ctx context.Context, s dataset.Schema, labelled *dataset.Records,
	rows *mat.Dense) ([]int, error) {
	n, _ := rows.Dims()
	answer, err := p.ask(ctx, "classifier", longest(s.Classes(), n), func(dir string) error {
		return write(dir, s, labelled, rows)
	}, recordsFile, poolFile, schemaFile)
	if err != nil {
		return nil, err
	}
	return parse(answer, s.Classes(), n)
}

// ask runs the program on files that write makes in a new folder, and removes the folder. It
// returns the answer, of at most most bytes. what names the program in errors.
func (p Program) ask(ctx context.Context, what string, most int, write func(dir string) error,
	files ...string) (answer []byte, err error) {
	dir, err := os.MkdirTemp(p.Scratch, what+"-")
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", what, err)
	}
	defer func() {
		if gone := os.RemoveAll(dir); err == nil && gone != nil {
			answer, err = nil, fmt.Errorf("run %s: remove its files: %w", what, gone)
		}
	}()
	if err := write(dir); err != nil {
		return nil, fmt.Errorf("run %s: %w", what, err)
	}
	if answer, err = p.run(ctx, dir, most, files...); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return answer, nil
}

func write(dir string, s dataset.Schema, labelled *dataset.Records, rows *mat.Dense) error {
	s.Missing = "" // the program gets empty cells for missing values
	var label []string
	classes := s.Classes()
	for _, y := range labelled.Y {
		label = append(label, classes[y])
	}
	if err := writeCSV(filepath.Join(dir, recordsFile), s, labelled.X, s.Label.Column,
		label); err != nil {
		return err
	}
	if err := writeCSV(filepath.Join(dir, poolFile), s, rows, "", nil); err != nil {
		return err
	}
	return writeSchema(dir, s)
}

func writeSchema(dir string, s dataset.Schema) error {
	text, err := json.MarshalIndent(programSchema(s), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, schemaFile), append(text, '\n'), 0o600)
}

// programSchema has one feature for each column, with every level that a cell may have.
func programSchema(s dataset.Schema) (out struct {
	Label struct {
		Column  string   `json:"column"`
		Classes []string `json:"classes"`
	} `json:"label"`
	Features []dataset.Feature `json:"features"`
}) {
	out.Label.Column, out.Label.Classes = s.Label.Column, s.Classes()
	for _, f := range s.Features {
		names, _ := dataset.ExpandNames(f.Columns) // the schema was checked
		if f.Column != "" {
			names = []string{f.Column}
		}
		f.Columns = nil
		if f.Kind == dataset.Categorical && !slices.Contains(f.Levels, other) {
			f.Levels = append(slices.Clone(f.Levels), other)
		}
		for _, name := range names {
			f.Column = name
			out.Features = append(out.Features, f)
		}
	}
	return out
}

const other = "other"

// writeCSV writes encoded rows as the schema's columns, plus a last column if it is named.
func writeCSV(path string, s dataset.Schema, x *mat.Dense, last string,
	cells []string) (err error) {
	table, err := s.Decode(x)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := csvfile.New(file)
	columns := s.FeatureColumns()
	row := append(make([]string, 0, len(columns)+1), columns...)
	if last != "" {
		row = append(row, last)
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for i := range table.Rows() {
		for j, name := range columns {
			row[j], _ = table.Cell(i, name)
		}
		if last != "" {
			row[len(columns)] = cells[i]
		}
		if len(row) == 1 && row[0] == "" { // most programs skip an empty line
			if err := out.Close(); err != nil {
				return err
			}
			if _, err := file.WriteString("\"\"\n"); err != nil {
				return err
			}
			continue
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Close()
}

// run runs the program on files of a folder and returns its standard output, at most most bytes.
func (p Program) run(ctx context.Context, dir string, most int, files ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.Timeout, DefaultTimeout))
	defer cancel()
	scratch, err := filepath.Abs(dir) // Dir may differ from this process's folder
	if err != nil {
		return nil, err
	}
	arguments := p.limited()
	for _, name := range files {
		arguments = append(arguments, filepath.Join(scratch, name))
	}
	cmd := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.Dir, environment(scratch), grace
	answer, said := &kept{most: most}, &kept{most: 4 << 10, last: true}
	cmd.Stdout, cmd.Stderr = answer, said
	ownGroup(cmd)
	err = cmd.Run()
	killGroup(cmd)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("it was not done after %v", cmp.Or(p.Timeout, DefaultTimeout))
	// the program ended without an error, but a process that it started did not end
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil
	}
	if err == nil && answer.over {
		err = fmt.Errorf("it answered more than a line for each row, over %d bytes", most)
	}
	if err != nil {
		return nil, failure(err, said.text)
	}
	return answer.text, nil
}

func environment(scratch string) []string {
	out := []string{"TMPDIR=" + scratch, "TMP=" + scratch, "TEMP=" + scratch}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "PATHEXT",
		"USERPROFILE"} {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

func failure(err error, said []byte) error {
	text := strings.TrimSpace(strings.ToValidUTF8(string(said), "?"))
	if text == "" {
		return err
	}
	return fmt.Errorf("%w; it said: %s", err, text)
}

// longest bounds an answer's bytes: a class, quotes and line end for each row, and one line more.
func longest(classes []string, rows int) int {
	most := 0
	for _, c := range classes {
		most = max(most, len(c))
	}
	return (rows + 1) * (most + 8)
}

func parse(answer []byte, classes []string, rows int) ([]int, error) {
	known := make(map[string]int, len(classes))
	for k, c := range classes {
		known[c] = k
	}
	lines := linesOf(answer)
	if len(lines) != rows {
		return nil, fmt.Errorf("classifier: it answered %d lines for %d rows of the pool: print one class a line, and nothing else, on the standard output", len(lines), rows)
	}
	votes := make([]int, rows)
	for i, line := range lines {
		text := strings.TrimSuffix(string(line), "\r")
		k, ok := known[text]
		if !ok {
			return nil, fmt.Errorf("classifier: line %d of its answer, %.60q, is none of the classes %s", i+1, text, strings.Join(classes, ", "))
		}
		votes[i] = k
	}
	return votes, nil
}

func linesOf(answer []byte) [][]byte {
	lines := bytes.Split(answer, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	return lines
}

// kept keeps the first or last bytes and drops the rest, so that the program never blocks.
type kept struct {
	most int
	last bool
	text []byte
	over bool
}

var _ io.Writer = (*kept)(nil)

func (k *kept) Write(b []byte) (int, error) {
	n := len(b)
	if k.last {
		k.text = append(k.text, b[max(0, len(b)-k.most):]...)
		k.text = k.text[max(0, len(k.text)-k.most):]
		return n, nil
	}
	if room := k.most - len(k.text); len(b) > room {
		b, k.over = b[:room], true
	}
	k.text = append(k.text, b...)
	return n, nil
}
