package site

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"caucus/internal/yamlfile"
	"caucus/learners"
	"caucus/learners/command"
)

// Learner is this site's classifier for plans that leave the choice to the parties (learner: any):
// the name of a built-in classifier, or a program. The zero Learner is the default classifier.
type Learner struct {
	Name string
	Program
}

// Program is the site's own program that votes or scores records; command.Program describes its
// input and output. The zero Program means none.
type Program struct {
	// Command is the program and its first arguments. It runs in the configuration file's folder.
	Command []string `yaml:"command"`
	// Timeout is the longest time that the program may take. 0 means ten minutes.
	Timeout time.Duration `yaml:"timeout"`
	// Memory is the most memory that each of its processes may use (Linux). 0 means 4GiB.
	Memory Bytes `yaml:"memory"`

	dir string // the folder in which the program runs: the configuration's
}

// UnmarshalYAML reads a text as the name of a built-in classifier.
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
	if p.Configured() || p.Timeout != 0 || p.Memory != 0 {
		return p.program("").Validate()
	}
	return nil
}

// Check returns an error if a program cannot be run.
func (p Program) Check() error {
	_, err := p.program("").Find()
	return err
}

// Configured reports whether the site configured a program of its own; without one a built-in
// classifier votes.
func (p Program) Configured() bool { return len(p.Command) > 0 }

func (p Program) program(scratch string) command.Program {
	return command.Program{Command: p.Command, Timeout: p.Timeout, Memory: int64(p.Memory),
		Dir: p.dir, Scratch: scratch}
}

// String tells a person the command line and its time limit. Command lines in the configuration
// must hold no secret.
func (p Program) String() string {
	return fmt.Sprintf("this site's own program, %s, for at most %v", strings.Join(p.Command, " "),
		cmp.Or(p.Timeout, command.DefaultTimeout))
}

// String names what votes here when a plan leaves the choice to sites: the site's program, a
// built-in classifier, or the default one.
func (l Learner) String() string {
	if l.Configured() {
		return l.Program.String()
	}
	return cmp.Or(l.Name, learners.DefaultLearner)
}

// Bytes is a size in bytes. Its text is a number without or with a unit, as in 512MiB or 4GiB.
type Bytes int64

// UnmarshalText reads a whole number of bytes, KiB, MiB or GiB (powers of 1024), at most 2⁶² bytes.
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

func (p *Program) below(folder string) {
	if p.Configured() {
		// an error concerns only this process's working directory; dir is "" then
		p.dir, _ = filepath.Abs(folder)
	}
}
