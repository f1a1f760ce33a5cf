package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/learners"
	"caucus/learners/command"
	"caucus/study"
	"caucus/study/simulate"
)

// voterFlags are what virtual parties vote with, in turn: built-in learners and
// programs.
type voterFlags struct {
	lines   []string
	timeout time.Duration

	mu     sync.Mutex // guards what follows
	failed int
	first  error
}

func (v *voterFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&v.lines, "voter", nil, `what parties vote with, dealt in turn: a built-in learner or a command, "python3 vote.py"; implies --learner any (unit party)`)
	f.DurationVar(&v.timeout, "voter-timeout", command.DefaultTimeout, "the longest that such a command may take")
}

// voters are the voters of the flags.
func (v *voterFlags) voters() ([]simulate.Voter, error) {
	var out []simulate.Voter
	for _, line := range v.lines {
		voter := simulate.Voter{Name: line, Voter: study.Voter{Learner: line}}
		if !slices.Contains(learners.Names(), line) {
			p := command.Program{Command: strings.Fields(line), Timeout: v.timeout}
			if _, err := p.Find(); err != nil {
				return nil, usagef("--voter %q is no built-in learner (%s) and no command: %v", line, strings.Join(learners.Names(), ", "), err)
			}
			voter.Name = filepath.Base(p.Command[len(p.Command)-1])
			voter.Voter = study.Voter{Vote: v.vote(p)}
		}
		out = append(out, voter)
	}
	return out, nil
}

// vote runs a program and counts where it fails.
func (v *voterFlags) vote(p command.Program) func(context.Context, dataset.Schema, *dataset.Records, *mat.Dense) ([]int, error) {
	return func(ctx context.Context, s dataset.Schema, labelled *dataset.Records, rows *mat.Dense) ([]int, error) {
		votes, err := p.Vote(ctx, s, labelled, rows)
		if err != nil {
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.failed++; v.first == nil {
				v.first = err
			}
		}
		return votes, err
	}
}

// warn says how often programs gave no votes.
func (v *voterFlags) warn(c *console) {
	if v.failed > 0 {
		c.note("warning: %d times a command gave no votes, and a constant was taken in their place; the first: %v", v.failed, v.first)
	}
}
