package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// experiment compares methods on data and reports what it found.
type experiment struct {
	// Name is the argument of run and the name of the folder that it writes. About is one line.
	Name, About string
	// Tasks lists the independent pieces of work for the lab's settings
	// (lab.Quick, lab.Draws, lab.Seed). Their order does not matter.
	Tasks func(l *lab) ([]task, error)
	// Report turns all measurements into the page, with tables and figures.
	Report func(l *lab, r *results, p *page) error
}

// task measures something, usually for one draw of one data set. It must
// depend on the lab's settings and its key alone, never on other tasks, and
// take its randomness from lab.rng(key).
type task struct {
	// Key names the task within its experiment, in letters, digits and -_.=
	Key string
	Run func(ctx context.Context, out *results) error
}

// experiments is the registry: one row an experiment.
func experiments() []experiment {
	return []experiment{
		coefficientsExperiment(),
		forecastExperiment(),
		hammExperiment(),
		iyerCoverageExperiment(),
		iyerFig1Experiment(),
		iyerFig2Experiment(),
		iyerFig3Experiment(),
		jiElkanExperiment(),
		mapsExperiment(),
		sharperExperiment(),
		symmetricExperiment(),
	}
}

func experimentNamed(name string) (experiment, error) {
	var names []string
	for _, e := range experiments() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return experiment{}, fmt.Errorf("there is no experiment %q: choose of %s", name,
		strings.Join(names, ", "))
}
