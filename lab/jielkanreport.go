package main

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// rmse is the root mean square of a column.
func (r *results) rmse(column string) float64 {
	v := r.floats(column)
	if len(v) == 0 {
		return math.NaN()
	}
	return floats.Norm(v, 2) / math.Sqrt(float64(len(v)))
}

// jiElkanFigure numbers the figures of the comparison as they are told of: 1 to 3
// the query on each E, 4 to 6 the support vector machine.
func jiElkanFigure(what string, setting int) string {
	return fmt.Sprintf("figure-%d", map[string]int{"query": 1, "svm": 4}[what]+setting)
}

func jiElkanReport(l *lab, r *results, p *page) error {
	p.paragraph("D is private, E public. A query (the share of positive outcomes in D) is answered on E under weights, and classifiers are trained on E under weights and tested on records like D's. E is the other half of the same records (equal), mostly of the other sex (skewed), or drawn from the schema alone (uniform); at most %d rows of it are used. Each draw deals D, E and test records anew (three quarters of the private records are D, a quarter tests). Weights by the features alone cannot change what E says about the outcome given the features, so on a made-up E only weights with the outcome mean anything. Figures 1 to 3 are the query, 4 to 6 the support vector machine, on E equal, skewed and uniform.", jiElkanPool)
	for i, setting := range jiElkanSettings {
		s := r.where("setting", setting)
		if len(s.rows) == 0 {
			continue // not measured yet; the figures keep their numbers
		}
		p.paragraph("**E %s: %d draws.**", setting, len(s.distinct("draw")))
		if err := jiElkanQuery(i, setting, s, p); err != nil {
			return err
		}
		if err := jiElkanLambda(setting, s, p); err != nil {
			return err
		}
		for _, name := range jiElkanLearners {
			if err := jiElkanAccuracy(i, setting, name, s.where("learner", name), p); err != nil {
				return err
			}
		}
	}
	return nil
}

// having are the methods that were measured by a column at some ε.
func (r *results) having(column string) []string {
	var names []string
	for _, m := range r.distinct("method") {
		if len(r.where("method", m).floats(column)) > 0 {
			names = append(names, m)
		}
	}
	return names
}

// finite are the different values of ε but for ∞.
func (r *results) finite(column string) []float64 {
	var out []float64
	for _, v := range r.numbers(column) {
		if !math.IsInf(v, 1) {
			out = append(out, v)
		}
	}
	return out
}

func jiElkanHeader(epsilons []float64) []string {
	header := []string{"method"}
	for _, e := range epsilons {
		header = append(header, fmt.Sprintf("ε = %g", e))
	}
	return header
}

func jiElkanQuery(i int, setting string, s *results, p *page) error {
	epsilons := s.finite("epsilon")
	p.section("E " + setting + ": the query's RMSE")
	var rows [][]string
	f := figure{Title: "Query, E " + setting, X: "ε", Y: "RMSE", LogX: true, LogY: true}
	for _, m := range s.having("error") {
		line, c := []string{m}, curve{Name: m}
		for _, e := range epsilons {
			v := s.where("method", m, "epsilon", e).rmse("error")
			if math.IsNaN(v) {
				continue
			}
			line = append(line, fmt.Sprintf("%.4f", v))
			c.Points = append(c.Points, point{X: e, Y: v})
		}
		if len(c.Points) > 0 {
			rows = append(rows, line)
			f.Curves = append(f.Curves, c)
		}
	}
	raw := s.where("method", "unweighted").rmse("error")
	f.Lines = []reference{{Name: "unweighted", Y: raw}}
	p.table(jiElkanHeader(epsilons), rows)
	p.paragraph("Unweighted: %.4f.", raw)
	return p.figure(jiElkanFigure("query", i), f)
}

// jiElkanLambda reports bias and spread against λ without noise.
func jiElkanLambda(setting string, s *results, p *page) error {
	s = s.where("epsilon", math.Inf(1))
	lambdas := s.numbers("lambda")
	header := []string{"without noise"}
	for _, v := range lambdas {
		header = append(header, fmt.Sprintf("λ = %g", v))
	}
	p.section("E " + setting + ": bias and variance in λ, without noise")
	p.paragraph("Mean ± standard deviation of the query's error over the draws. A larger λ moves the answer to E's own mean (%+.4f) and steadies it.", s.where("method", "unweighted").over("error").Mean)
	f := figure{Title: "Query without noise, E " + setting, X: "λ", Y: "error of the query",
		LogX: true}
	var rows [][]string
	for _, m := range []string{"entropy", "density ratio"} {
		line := []string{m}
		at := s.where("method", m)
		for _, v := range lambdas {
			e := at.where("lambda", v).over("error")
			line = append(line, fmt.Sprintf("%+.4f ± %.4f", e.Mean, e.SD))
		}
		rows = append(rows, line)
		f.Curves = append(f.Curves, curveOf(m, at, "lambda", "error"))
	}
	f.Lines = []reference{{Name: "no error"}}
	p.table(header, rows)
	return p.figure("lambda-"+setting, f)
}

// jiElkanAccuracy reports a classifier's accuracy against ε.
func jiElkanAccuracy(i int, setting, name string, s *results, p *page) error {
	epsilons := s.finite("epsilon")
	p.section(fmt.Sprintf("E %s: accuracy of %s", setting, name))
	var rows [][]string
	f := figure{Title: "Accuracy of " + name + ", E " + setting, X: "ε", Y: "accuracy", LogX: true}
	for _, m := range s.having("accuracy") {
		at := s.where("method", m)
		if strings.HasPrefix(m, "trained on") {
			f.Lines = append(f.Lines, reference{Name: m, Y: at.over("accuracy").Mean})
			continue
		}
		line := []string{m}
		for _, e := range epsilons {
			line = append(line, at.where("epsilon", e).over("accuracy").String())
		}
		rows = append(rows, line)
		f.Curves = append(f.Curves, curveOf(m, at, "epsilon", "accuracy"))
	}
	p.table(jiElkanHeader(epsilons), rows)
	for _, line := range f.Lines {
		p.paragraph("%s, without privacy: %.4f.", line.Name, line.Y)
	}
	file := strings.ReplaceAll(name, " ", "-") + "-" + setting
	if name == "svm" {
		file = jiElkanFigure("svm", i)
	}
	return p.figure(file, f)
}
