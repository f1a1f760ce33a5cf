package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"gonum.org/v1/gonum/mat"

	"caucus/study/regress/leastsquares"
)

// bodyOf reads the result of a release's file.
func bodyOf[T any](ts *testscript.TestScript, file string) T {
	var r struct {
		Release struct{ Result struct{ Body T } }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &r))
	return r.Release.Result.Body
}

// changesCommand compares a regress study's release with least squares by QR of clean files, of an
// outcome that is readmitted: "changes RELEASE CLEAN CLEAN...". The coefficients may lie off by 8
// of their standard deviations, which are of noise and of drawing the records. Noise alone does so
// with probability below 1e-10, in which the shift by shortening is allowed for: a quarter of a
// standard deviation.
func changesCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: changes RELEASE CLEAN CLEAN...")
	}
	t := bodyOf[leastsquares.Table](ts, args[0])
	if len(t.Coefficients) == 0 {
		ts.Fatalf("%s has no coefficient", args[0])
	}
	var x, y []float64
	for _, file := range args[1:] {
		all, err := csv.NewReader(strings.NewReader(ts.ReadFile(file))).ReadAll()
		ts.Check(err)
		for _, record := range all[1:] {
			cell := map[string]string{}
			for k, name := range all[0] {
				cell[name] = record[k]
			}
			row, complete := []float64{1}, true
			for _, c := range t.Coefficients {
				if c.Level != "" {
					row = append(row, map[bool]float64{true: 1}[cell[c.Column] == c.Level])
					continue
				}
				v, err := strconv.ParseFloat(cell[c.Column], 64)
				complete = complete && err == nil
				if c.Log {
					v = math.Log1p(v)
				}
				row = append(row, v)
			}
			if complete {
				x = append(x, row...)
				y = append(y, map[bool]float64{true: 1}[cell["readmitted"] == "yes"])
			}
		}
	}
	var beta mat.VecDense
	ts.Check(beta.SolveVec(mat.NewDense(len(y), len(t.Coefficients)+1, x),
		mat.NewVecDense(len(y), y)))
	for j, c := range t.Coefficients {
		by, n := beta.AtVec(j+1), c.Change
		ts.Logf("%s: %+.4g ± %.2g, by hand %+.4g", c.Name(), n.Value, n.SD, by)
		if !n.Known() || math.Abs(n.Value-by) > 8*n.SD {
			ts.Fatalf("%s is %+v, by hand %g", c.Name(), n, by)
		}
	}
	if n := t.CountedNumber(); !(math.Abs(n.Value-float64(len(y))) < 8*n.SD+.01*float64(len(y))) {
		ts.Fatalf("%+v records count, by hand %d", n, len(y))
	}
}
