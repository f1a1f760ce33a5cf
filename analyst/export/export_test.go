package export_test

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"caucus/analyst/export"
	"caucus/study"
	"caucus/study/describe/described"
)

const mostOff = 1e-9

func (f fixture) compare(t *testing.T, m export.Model, predicted []string, got [][]float64) {
	t.Helper()
	classes, want := f.want(t)
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", f.name, len(got), len(want))
	}
	worst := 0.0
	for i := range want {
		if predicted[i] != m.Classes[classes[i]] {
			t.Fatalf("%s: row %d is %q, want %q", f.name, i, predicted[i], m.Classes[classes[i]])
		}
		for k := range want[i] {
			worst = max(worst, math.Abs(got[i][k]-want[i][k]))
		}
	}
	if !(worst <= mostOff) {
		t.Errorf("%s: a share is off by %g", f.name, worst)
	}
}

func model(t testing.TB, r study.Release) export.Model {
	t.Helper()
	m, err := export.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSQLite(t *testing.T) {
	for _, f := range fixtures(t) {
		m := model(t, f.release)
		query, err := m.SQL(export.Table{Name: `odd "table"`, ExtraColumns: []string{"patient"}})
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		names := f.records.Columns()
		quoted, marks := make([]string, len(names)), make([]string, len(names))
		for i, n := range names {
			quoted[i], marks[i] = `"`+strings.ReplaceAll(n, `"`, `""`)+`"`, "?"
		}
		if _, err := db.Exec(`CREATE TABLE "odd ""table""" (` + strings.Join(quoted, ", ") + `)`); err != nil {
			t.Fatal(err)
		}
		for r := range f.records.Rows() {
			cells := make([]any, len(names))
			for i, n := range names {
				text, _ := f.records.Cell(r, n)
				cells[i] = text
				// as numbers in every second row
				if v, err := strconv.ParseFloat(text, 64); err == nil && r%2 == 0 &&
					!math.IsNaN(v) {
					cells[i] = v
				}
				if text == "" && r%3 == 0 {
					cells[i] = nil
				}
			}
			if _, err := db.Exec(`INSERT INTO "odd ""table""" VALUES (`+strings.Join(marks, ", ")+`)`, cells...); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := db.Query(string(query))
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		var predicted []string
		var got [][]float64
		for rows.Next() {
			var id, class string
			shares := make([]float64, len(m.Classes))
			to := []any{&id, &class}
			for k := range shares {
				to = append(to, &shares[k])
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprint("p", len(got)); id != want {
				t.Fatalf("row of %s where %s was", id, want)
			}
			predicted, got = append(predicted, class), append(got, shares)
		}
		if err := errors.Join(rows.Err(), rows.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
		f.compare(t, m, predicted, got)
	}
}

func TestR(t *testing.T) {
	r, err := exec.LookPath("Rscript")
	if err != nil {
		t.Skip("there is no Rscript; .ci/peers installs one and runs this again")
	}
	for _, f := range fixtures(t) {
		f.runs(t, export.Model.R, r, "--vanilla", "model.R")
	}
	drawsCurves(t, r)
	drawsChanges(t, r)
}

// runs compares the output of a program on a file; the last word of the command is the program's
// name.
func (f fixture) runs(t *testing.T, write func(export.Model) ([]byte, error), command ...string) {
	t.Helper()
	m := model(t, f.release)
	program, err := write(m)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var records bytes.Buffer
	if err := f.records.WriteCSV(&records); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{command[len(command)-1]: program,
		"records.csv": records.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(command[0], append(command[1:], "records.csv")...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", f.name, err, problems.String())
	}
	predicted, got := readPredictions(t, out, len(m.Classes))
	f.compare(t, m, predicted, got)
}

// TestProgramsRefuseInOneLine: given an unreadable file, or one without the model's columns, each
// program fails and says so in its last line of output.
func TestProgramsRefuseInOneLine(t *testing.T) {
	f := fixtures(t)[0]
	m := model(t, f.release)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.csv"), []byte("a,b\n1,2\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		write   func(export.Model) ([]byte, error)
		command []string
	}{
		{export.Model.R, []string{"Rscript", "--vanilla", "model.R"}},
	} {
		if _, err := exec.LookPath(of.command[0]); err != nil {
			t.Logf("there is no %s; .ci/peers has one and runs this again", of.command[0])
			continue
		}
		program, err := of.write(m)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, of.command[len(of.command)-1]), program, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for file, says := range map[string]string{"nowhere.csv": "No such file", ".": "irectory",
			"other.csv": "no column"} {
			cmd := exec.Command(of.command[0], append(of.command[1:], file)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
			var problems bytes.Buffer
			cmd.Stderr = &problems
			out, err := cmd.Output()
			// warnings come first
			lines := strings.Split(strings.TrimSpace(problems.String()), "\n")
			said := lines[len(lines)-1]
			whole := !strings.Contains(problems.String(), "Traceback") &&
				!strings.Contains(problems.String(), "Calls:")
			if err == nil || len(out) > 0 || !whole || !strings.HasPrefix(said, file) ||
				!strings.Contains(said, says) {
				t.Errorf("%s of %s: %v\n%s%s", of.command[0], file, err, out, problems.String())
			}
		}
	}
}

func readPredictions(t *testing.T, out []byte, classes int) (predicted []string,
	shares [][]float64) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all[1:] {
		predicted = append(predicted, row[1])
		numbers := make([]float64, classes)
		for k := range numbers {
			if numbers[k], err = strconv.ParseFloat(row[2+k], 64); err != nil {
				t.Fatal(err)
			}
		}
		shares = append(shares, numbers)
	}
	return predicted, shares
}

// TestIdentityIsFolded: without a projection the model has one step, with coefficients per column.
func TestIdentityIsFolded(t *testing.T) {
	for _, f := range fixtures(t) {
		if m := model(t, f.release); strings.HasPrefix(f.name, "identity") && len(m.Steps) != 1 {
			t.Errorf("%s has %d steps", f.name, len(m.Steps))
		}
	}
}

// TestWellFormed: JSON keeps every name, and code contains names only inside quoted texts.
func TestWellFormed(t *testing.T) {
	for _, f := range fixtures(t) {
		m := model(t, f.release)
		document, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var back export.Model
		if err := json.Unmarshal(document, &back); err != nil {
			t.Fatal(err)
		}
		if len(back.Columns) != len(m.Columns) || back.Columns[3].Name != m.Columns[3].Name ||
			back.Columns[3].Levels[1] != m.Columns[3].Levels[1] {
			t.Errorf("%s: columns came back otherwise", f.name)
		}
		graph, err := m.ONNX()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(graph, []byte(m.Columns[3].Name)) {
			t.Errorf("%s: ONNX has no input %q", f.name, m.Columns[3].Name)
		}
		r, err := m.R()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(r), "\n") {
			if strings.Contains(line, "with a line */") && !strings.HasPrefix(line, "# ") && !strings.Contains(line, `"a warning\012with`) {
				t.Errorf("%s: a warning is code: %s", f.name, line)
			}
		}
	}
}

// TestRefusals: a refused export gives the reason.
func TestRefusals(t *testing.T) {
	f := fixtures(t)[0]
	other := f.release
	other.Kind = "describe"
	if _, err := export.New(other); err == nil || !strings.Contains(err.Error(), "it was changed") {
		t.Errorf("another kind: %v", err)
	}
	damaged := f.release
	var err error
	if damaged.Result, err = study.NewResult(described.Table{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := export.New(damaged); err == nil {
		t.Error("another body was taken")
	}
	if _, _, err := export.FindFormat("excel", "x.xlsx"); err == nil ||
		!strings.Contains(err.Error(), "onnx") {
		t.Errorf("excel: %v", err)
	}
	if _, name, err := export.FindFormat("", "model.ONNX"); err != nil || name != "onnx" {
		t.Errorf("by its ending: %q, %v", name, err)
	}
}
