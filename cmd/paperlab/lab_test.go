package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// counting is an experiment whose tasks count how often they ran; a task named
// in broken fails.
func counting(ran *atomic.Int32, broken *string) experiment {
	return experiment{
		Name: "counting", About: "counts",
		Tasks: func(l *lab) ([]task, error) {
			var tasks []task
			for i := range 6 {
				key := fmt.Sprintf("t%d", i)
				tasks = append(tasks, task{key, func(_ context.Context, out *results) error {
					ran.Add(1)
					if key == *broken {
						return errors.New("broken")
					}
					out.add("task", i, "noise", l.rng(key).Float64(), "note", "a, \"b\"")
					return nil
				}})
			}
			return tasks, nil
		},
		Report: func(_ *lab, r *results, p *page) error {
			p.table([]string{"rows", "mean"}, [][]string{{fmt.Sprint(len(r.rows)), r.over("task").String()}})
			return p.figure("noise", figure{Title: "noise", X: "task", Y: "noise", Curves: []curve{curveOf("noise", r, "task", "noise")}})
		},
	}
}

// TestRunnerResumes: after a failure a run takes up what was measured, another
// seed measures everything again, and the results do not depend on workers.
func TestRunnerResumes(t *testing.T) {
	var ran atomic.Int32
	broken := "t4"
	e := counting(&ran, &broken)
	r := &runner{lab: &lab{Seed: 1, Workers: 1}, out: t.TempDir(), now: time.Now, note: t.Logf, command: "paperlab run counting"}
	if err := r.run(context.Background(), []experiment{e}); err == nil {
		t.Fatal("a failing task did not fail the run")
	}
	if ran.Load() != 5 {
		t.Fatalf("%d tasks ran up to the failing fifth", ran.Load())
	}
	broken = ""
	ran.Store(0)
	r.lab.Workers = 3
	if err := r.run(context.Background(), []experiment{e}); err != nil {
		t.Fatal(err)
	}
	if ran.Load() != 2 {
		t.Errorf("%d tasks ran after four were there of six", ran.Load())
	}
	read := func() [][]string {
		f, err := os.Open(filepath.Join(r.out, "counting", "results.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines, err := csv.NewReader(f).ReadAll()
		if err != nil || len(lines) != 7 || lines[1][2] != `a, "b"` {
			t.Fatalf("results.csv holds %v (%v)", lines, err)
		}
		return lines
	}
	first := read()
	page, err := os.ReadFile(filepath.Join(r.out, "counting", "README.md"))
	if err != nil || !strings.Contains(string(page), "| 6 | 2.5000 ± 1.8708 |") || !strings.Contains(string(page), "paperlab run counting") {
		t.Errorf("page: %v\n%s", err, page)
	}
	svg, err := os.ReadFile(filepath.Join(r.out, "counting", "noise.svg"))
	if err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("figure: %v", err)
	}
	ran.Store(0)
	r.lab.Seed = 2
	if err := r.run(context.Background(), []experiment{e}); err != nil {
		t.Fatal(err)
	}
	if second := read(); ran.Load() != 6 || second[1][1] == first[1][1] {
		t.Errorf("another seed ran %d tasks and gave %v after %v", ran.Load(), second[1], first[1])
	}
}

// TestMainVerbs: what each prints and exits with.
func TestMainVerbs(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		out  string
	}{
		{"list", 0, "hamm"},
		{"run hamm", 2, "--out"},
		{"run nothing --out x", 2, "choose of"},
		{"dance", 2, "use list"},
		{"run hamm --out x --bogus", 2, "bogus"},
	} {
		var out, err bytes.Buffer
		if code := Main(context.Background(), strings.Fields(c.args), &out, &err); code != c.code || !strings.Contains(out.String()+err.String(), c.out) {
			t.Errorf("%s: exit %d, printed %q %q; want exit %d and %q", c.args, code, out.String(), err.String(), c.code, c.out)
		}
	}
}

func TestNeededFor(t *testing.T) {
	goal := func(float64) float64 { return .8 }
	for _, c := range []struct {
		name  string
		curve []point
		want  string
	}{
		{"between", []point{{.1, .7, 0}, {1, .9, 0}}, "0.32"},
		{"never", []point{{.1, .7, 0}, {1, .75, 0}}, "> 1"},
		{"always", []point{{.1, .85, 0}, {1, .9, 0}}, "≤ 0.1"},
		{"a dip counts", []point{{.1, .85, 0}, {1, .7, 0}, {10, .9, 0}}, "3.2"},
		{"nothing", nil, ""},
	} {
		if got := neededFor(c.curve, goal).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSlope(t *testing.T) {
	var points []point
	for x := 1.0; x < 100; x *= 2 {
		points = append(points, point{X: x, Y: 3 / (x * x)})
	}
	if s, n := slope(points, 1); math.Abs(s+2) > 1e-9 || n != 6 {
		t.Errorf("slope %v of %d points, want -2 of the 6 below 1", s, n)
	}
}
