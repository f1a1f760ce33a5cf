package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
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

// changesCommand compares a regress study with clean files, by hand. "changes PREVIEW CLEAN" demands
// that a preview says how many records have all columns. "changes RELEASE CLEAN CLEAN..." demands
// that the coefficients lie within 6.5 standard deviations of the noise, and a quarter of those of
// noise and of drawing the records, from least squares by QR of all files. Noise is further off
// with probability below 1e-10. Shortening may move a coefficient by the quarter.
func changesCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: changes PREVIEW CLEAN | changes RELEASE CLEAN CLEAN...")
	}
	var x, y []float64
	for _, file := range args[1:] {
		all, err := csv.NewReader(strings.NewReader(ts.ReadFile(file))).ReadAll()
		ts.Check(err)
		for _, record := range all[1:] {
			row, complete := []float64{1}, true
			for _, name := range []string{"age", "sex", "creatinine", "admissions_before",
				"systolic_bp"} {
				cell := record[slices.Index(all[0], name)]
				v, err := strconv.ParseFloat(cell, 64)
				switch name {
				case "sex":
					v, err = map[string]float64{"male": 1}[cell], nil
				case "creatinine", "admissions_before":
					v = math.Log1p(v)
				}
				row, complete = append(row, v), complete && err == nil
			}
			if complete {
				x = append(x, row...)
				y = append(y, map[string]float64{"yes": 1}[record[slices.Index(all[0],
					"readmitted")]])
			}
		}
	}
	if len(args) == 2 {
		if want := fmt.Sprintf("records with the outcome and all columns: %d\n",
			len(y)); !strings.Contains(ts.ReadFile(args[0]), want) {
			ts.Fatalf("%s does not show %q", args[0], want)
		}
		return
	}
	t := bodyOf[leastsquares.Table](ts, args[0])
	if len(t.Coefficients) != 5 || t.Coefficients[1].Level != "male" {
		ts.Fatalf("%s has other coefficients: %+v", args[0], t.Coefficients)
	}
	var beta mat.VecDense
	ts.Check(beta.SolveVec(mat.NewDense(len(y), len(t.Coefficients)+1, x),
		mat.NewVecDense(len(y), y)))
	for j, c := range t.Coefficients {
		by, n := beta.AtVec(j+1), c.Change
		ts.Logf("%s: %+.4g, SD %.2g (noise %.2g), by hand %+.4g", c.Name(), n.Value, n.SD,
			n.NoiseSD, by)
		if !n.Known() || math.Abs(n.Value-by) > 6.5*n.NoiseSD+n.SD/4 {
			ts.Fatalf("%s is %+v, by hand %g", c.Name(), n, by)
		}
	}
	if n := t.CountedNumber(); !(math.Abs(n.Value-float64(len(y))) < 8*n.SD+.01*float64(len(y))) {
		ts.Fatalf("%+v records count, by hand %d", n, len(y))
	}
}
