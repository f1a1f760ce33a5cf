package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/analyst/simulate"
	"caucus/cmd/internal/console"
	"caucus/dataset"
	"caucus/learners"
	"caucus/learners/command"
	"caucus/study"
)

// voters are the built-in learners and programs that virtual parties use, each in turn.
type voters struct {
	timeout time.Duration

	mu     sync.Mutex // guards the fields below
	failed int
	first  error
}

// of parses the values of --voters.
func (v *voters) of(lines []string) ([]simulate.Voter, error) {
	var out []simulate.Voter
	for _, line := range lines {
		voter := simulate.Voter{Name: line, Voter: study.Voter{Learner: line}}
		if !slices.Contains(learners.Names(), line) {
			p := command.Program{Command: strings.Fields(line), Timeout: v.timeout}
			if _, err := p.Find(); err != nil {
				return nil, console.Usagef("voters: %q is no built-in learner (%s) and no command: %v", line, strings.Join(learners.Names(), ", "), err)
			}
			voter.Name = filepath.Base(p.Command[len(p.Command)-1])
			voter.Voter = study.Voter{Vote: v.vote(p)}
		}
		out = append(out, voter)
	}
	return out, nil
}

// vote runs a program, and counts its failures.
func (v *voters) vote(p command.Program) func(context.Context, dataset.Schema, *dataset.Records,
	*mat.Dense) ([]int, error) {
	return func(ctx context.Context, s dataset.Schema, labelled *dataset.Records,
		rows *mat.Dense) ([]int, error) {
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

func (v *voters) warn(c *console.Console) {
	if v.failed > 0 {
		c.Note("warning: %d times a command gave no votes, and constant votes were used instead; the first error: %v", v.failed, v.first)
	}
}
