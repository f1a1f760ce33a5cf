package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/internal/textpage"
	"caucus/internal/yamlfile"
	"caucus/learners"
	"caucus/learners/command"
	"caucus/study"
	"caucus/study/kinds"
)

// Learner is what this site votes with where a plan leaves that to the parties
// (learner: any): a built-in classifier by its name, or a program. The zero Learner is
// the default classifier.
type Learner struct {
	Name string
	Program
}

// Program is a program of the site's own, one that votes or one that scores records:
// command.Program says what it is given and has to answer. The zero Program is none.
type Program struct {
	// Command is the program and its first arguments, run in this file's folder.
	Command []string `yaml:"command"`
	// Timeout is the longest it may take; 0 is ten minutes.
	Timeout time.Duration `yaml:"timeout"`
	// Memory is the most that each of its processes may have (Linux); 0 is 4GiB.
	Memory Bytes `yaml:"memory"`

	dir string // of the configuration, where it is run
}

// UnmarshalYAML takes a text for the name of a built-in classifier.
func (l *Learner) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		l.Name = n.Value
		return nil
	}
	if err := yamlfile.DecodeNode(n, &l.Program); err != nil {
		return err
	}
	return l.program("").Validate()
}

func (l Learner) validate() error {
	if l.Name != "" && !slices.Contains(learners.Names(), l.Name) {
		return fmt.Errorf("%q is none of %s; a program of your own is {command: [python3, vote.py]}", l.Name, strings.Join(learners.Names(), ", "))
	}
	return l.Program.validate()
}

func (p Program) validate() error {
	if p.brought() || p.Timeout != 0 || p.Memory != 0 {
		return p.program("").Validate()
	}
	return nil
}

// brought says whether there is a program of the site's own.
func (p Program) brought() bool { return len(p.Command) > 0 }

func (p Program) program(scratch string) command.Program {
	return command.Program{Command: p.Command, Timeout: p.Timeout, Memory: int64(p.Memory), Dir: p.dir, Scratch: scratch}
}

func (p Program) String() string {
	return fmt.Sprintf("this site's own program, %s, for at most %v", strings.Join(p.Command, " "), cmp.Or(p.Timeout, command.DefaultTimeout))
}

func (l Learner) String() string {
	if l.brought() {
		return l.Program.String()
	}
	return cmp.Or(l.Name, learners.Default)
}

// Bytes is a size: 512MiB, 4GiB, or a number of bytes.
type Bytes int64

// UnmarshalText reads a size.
func (b *Bytes) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(1)
	for i, name := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(number, name); ok {
			number, unit = strings.TrimSpace(rest), 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<62/unit {
		return fmt.Errorf("%q is no size: write 512MiB or 4GiB", text)
	}
	*b = Bytes(n * unit)
	return nil
}

// chosen says whether a study lets this site choose the classifier, or what scores its
// records.
func chosen(p study.Plan) bool { return kinds.WordsOf(p).Learner == learners.Any }

// chosenHere says what this site chose for a study that lets it, or why it takes no part.
func (c Config) chosenHere(p study.Plan) (words string, err error) {
	switch {
	case !kinds.WordsOf(p).Scored:
		return "any that a site chooses; here " + c.Learner.String(), nil
	case !c.Scorer.brought():
		return "a program of each site's own scores its records; here none", errors.New("a program of this site's own has to score its records, and none is named: write scorer: {command: [python3, score.py]}")
	}
	return "none is trained; records are scored by " + c.Scorer.String(), nil
}

// learnerTime is what this site's choice takes in a study that leaves it one: steps, and
// beside them the time that a program has. Both follow from the configuration and from
// public numbers.
func (c Config) learnerTime(t study.Task, records int) (steps float64, program time.Duration, err error) {
	if !chosen(t.Plan()) {
		return 0, 0, nil
	}
	p := t.Plan()
	if kinds.WordsOf(p).Scored {
		_, err := c.chosenHere(p)
		return study.CellSteps * float64(records) * float64(len(p.Schema.FeatureColumns())), c.Scorer.program("").Limit(), err
	}
	if c.Learner.brought() { // files of all cells are written for it
		cells := float64(records+t.Pool().Rows()) * float64(len(p.Schema.FeatureColumns())+1)
		return study.CellSteps * cells, c.Learner.program("").Limit(), nil
	}
	steps, err = learners.Work(cmp.Or(c.Learner.Name, learners.Default), learners.Size{
		Rows: records, Mapped: p.Map.Dim(), Encoded: p.Schema.Dim(), Classes: len(p.Schema.Classes()), Votes: t.Pool().Rows(),
	})
	return steps, 0, err
}

// voter is what this site votes with; failed hears, for the site's eyes alone, why a
// program gave no votes.
func (s *state) voter(failed func(error)) study.Voter {
	l := s.config.Learner
	if !l.brought() {
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

// scorer is what scores this site's records; failed hears, for the site's eyes alone, why
// a program gave no scores.
func (s *state) scorer(failed func(error)) func(context.Context, dataset.Schema, *mat.Dense) ([]float64, error) {
	if !s.config.Scorer.brought() {
		return nil
	}
	return func(ctx context.Context, schema dataset.Schema, rows *mat.Dense) ([]float64, error) {
		scores, err := s.config.Scorer.program(s.scratch).Score(ctx, schema, rows)
		if err != nil {
			failed(err)
		}
		return scores, err
	}
}

// checkScorer says whether what scores this site's records can be run.
func (c Config) checkScorer() []CheckResult {
	const about = "scorer"
	if !c.Scorer.brought() {
		return nil
	}
	if _, err := c.Scorer.program("").Find(); err != nil {
		return []CheckResult{problem(about, "%v: correct scorer: command:", err)}
	}
	if !slices.Contains(c.Policy.learners(), learners.Any) {
		return []CheckResult{warning(about, "%s, but no study will use it: the policy allows learners %s; studies that let a site choose are named any", c.Scorer, textpage.List(c.Policy.learners()))}
	}
	if !command.LimitsMemory {
		return []CheckResult{warning(about, "%s; how much memory it takes is not limited on this system", c.Scorer)}
	}
	return []CheckResult{fine(about, "%s", c.Scorer)}
}

// checkLearner says whether what this site votes with can be run.
func (c Config) checkLearner() []CheckResult {
	const about = "learner"
	l := c.Learner
	if !l.brought() && l.Name == "" {
		return nil
	}
	if l.brought() {
		if _, err := l.program("").Find(); err != nil {
			return []CheckResult{problem(about, "%v: correct learner: command:", err)}
		}
	}
	switch {
	case !slices.Contains(c.Policy.learners(), learners.Any):
		return []CheckResult{warning(about, "%s, but no study will use it: the policy allows learners %s; studies that let a site choose are named any", l, textpage.List(c.Policy.learners()))}
	case l.brought() && !command.LimitsMemory:
		return []CheckResult{warning(about, "%s; how much memory it takes is not limited on this system", l)}
	}
	return []CheckResult{fine(about, "%s", l)}
}

// below puts a program into the folder of its configuration.
func (p *Program) below(folder string) {
	if p.brought() {
		p.dir, _ = filepath.Abs(folder) // an error is that of this process's own folder: then ""
	}
}
