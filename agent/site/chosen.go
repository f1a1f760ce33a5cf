package site

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/learners"
	"caucus/study"
	"caucus/study/kinds"
)

// Chosen says whether a study lets this site choose the classifier, or what scores its
// records.
func Chosen(p study.Plan) bool { return kinds.WordsOf(p).Learner == learners.Any }

// ChosenHere says what this site chose for a study that lets it, or why it takes no part.
func (c Config) ChosenHere(p study.Plan) (words string, err error) {
	switch {
	case !kinds.WordsOf(p).Scored:
		return "any that a site chooses; here " + c.Learner.String(), nil
	case !c.Scorer.Brought():
		return "a program of each site's own scores its records; here none", errors.New("a program of this site's own has to score its records, and none is named: write scorer: {command: [python3, score.py]}")
	}
	return "none is trained; records are scored by " + c.Scorer.String(), nil
}

// learnerTime is what this site's choice takes in a study that leaves it one: steps, and
// beside them the time that a program has. Both follow from the configuration and from
// public numbers.
func (c Config) learnerTime(t study.Task, records int) (steps float64, program time.Duration, err error) {
	if !Chosen(t.Plan()) {
		return 0, 0, nil
	}
	p := t.Plan()
	if kinds.WordsOf(p).Scored {
		_, err := c.ChosenHere(p)
		return study.CellSteps * float64(records) * float64(len(p.Schema.FeatureColumns())), c.Scorer.program("").Limit(), err
	}
	if c.Learner.Brought() { // files of all cells are written for it
		cells := float64(records+t.Pool().Rows()) * float64(len(p.Schema.FeatureColumns())+1)
		return study.CellSteps * cells, c.Learner.program("").Limit(), nil
	}
	steps, err = learners.Work(cmp.Or(c.Learner.Name, learners.Default), learners.Size{
		Rows: records, Mapped: p.Map.Dim(), Encoded: p.Schema.Dim(), Classes: len(p.Schema.Classes()), Votes: t.Pool().Rows(),
	})
	return steps, 0, err
}

// Voter is what this site votes with; failed hears, for the site's eyes alone, why a
// program gave no votes.
func (s *Site) Voter(failed func(error)) study.Voter {
	l := s.Config.Learner
	if !l.Brought() {
		return study.Voter{Learner: l.Name}
	}
	return study.Voter{Vote: func(ctx context.Context, schema dataset.Schema, labelled *dataset.Records, rows *mat.Dense) ([]int, error) {
		votes, err := l.program(s.scratch).Vote(ctx, schema, labelled, rows)
		if err != nil {
			failed(err)
		}
		return votes, err
	}}
}

// Scorer is what scores this site's records; failed hears, for the site's eyes alone, why
// a program gave no scores.
func (s *Site) Scorer(failed func(error)) func(context.Context, dataset.Schema, *mat.Dense) ([]float64, error) {
	if !s.Config.Scorer.Brought() {
		return nil
	}
	return func(ctx context.Context, schema dataset.Schema, rows *mat.Dense) ([]float64, error) {
		scores, err := s.Config.Scorer.program(s.scratch).Score(ctx, schema, rows)
		if err != nil {
			failed(err)
		}
		return scores, err
	}
}
