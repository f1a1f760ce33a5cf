package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// runner executes experiments into a folder.
type runner struct {
	lab     *lab
	out     string
	only    *regexp.Regexp       // nil: all tasks; measure those whose key matches
	command string               // to repeat the run, for the page
	note    func(string, ...any) // progress lines
	now     func() time.Time
}

// run measures all tasks of the experiments that were not measured before, in parallel over all
// experiments, then reports each. After the first error, and when ctx ends, no other task begins;
// what was measured stays.
func (r *runner) run(ctx context.Context, list []experiment) error {
	tasks := make([][]task, len(list))
	var queue []func(context.Context) error
	done, total := 0, 0
	var mu sync.Mutex // guards done and the lines of note, one at a time
	for i, e := range list {
		var err error
		if tasks[i], err = e.Tasks(r.lab); err != nil {
			return fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		if err := os.MkdirAll(filepath.Join(r.out, e.Name, "parts"), 0o755); err != nil {
			return err
		}
		for _, t := range tasks[i] {
			if r.only != nil && !r.only.MatchString(t.Key) {
				continue
			}
			total++
			queue = append(queue, func(ctx context.Context) error {
				start := r.now()
				taken, err := r.measure(ctx, e, t)
				if err != nil {
					return fmt.Errorf("experiment %s, task %s: %w", e.Name, t.Key, err)
				}
				mu.Lock()
				defer mu.Unlock()
				done++
				how := fmt.Sprintf("%.1f s", r.now().Sub(start).Seconds())
				if taken {
					how = "already there"
				}
				r.note("%3d/%d %s %s: %s", done, total, e.Name, t.Key, how)
				return nil
			})
		}
	}
	under, working := errgroup.WithContext(ctx)
	under.SetLimit(max(r.lab.Workers, 1))
	for _, measure := range queue {
		under.Go(func() error {
			if err := working.Err(); err != nil {
				return err
			}
			return measure(working)
		})
	}
	err := under.Wait()
	if ctx.Err() != nil { // whichever task saw it first
		return fmt.Errorf("stopped: %d of %d tasks are measured and kept; the same command goes on from there: %w", done, total, ctx.Err())
	}
	if err != nil {
		return err
	}
	for i, e := range list {
		if err := r.report(e, tasks[i]); err != nil {
			return fmt.Errorf("report %s: %w", e.Name, err)
		}
	}
	return nil
}

// settings name what a part was measured under; a part with others is measured again. The program
// itself is not among them: after a change of code, delete the folder.
func (r *runner) settings(t task) string {
	return fmt.Sprintf("# task %s seed %d quick %v", t.Key, r.lab.Seed, r.lab.Quick)
}

func (r *runner) part(e experiment, t task) string {
	return filepath.Join(r.out, e.Name, "parts", t.Key+".csv")
}

// measure runs a task unless its part is there already. The part appears whole or not at all.
func (r *runner) measure(ctx context.Context, e experiment, t task) (taken bool, err error) {
	if _, err := r.take(e, t); err == nil {
		return true, nil
	}
	out := &results{}
	if err := t.Run(ctx, out); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return false, writeFile(r.part(e, t), func(w io.Writer) error {
		fmt.Fprintln(w, r.settings(t))
		return out.writeCSV(w)
	})
}

var errOtherSettings = errors.New("measured under other settings")

// take reads a task's part.
func (r *runner) take(e experiment, t task) (*results, error) {
	f, err := os.Open(r.part(e, t))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bufio.NewReader(f)
	line, err := b.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != r.settings(t) {
		return nil, errOtherSettings
	}
	return readResults(b)
}

func (r *runner) report(e experiment, tasks []task) error {
	all, missing := &results{}, 0
	for _, t := range tasks {
		part, err := r.take(e, t)
		switch {
		case r.only != nil && (errors.Is(err, os.ErrNotExist) || errors.Is(err, errOtherSettings)):
			missing++
		case err != nil:
			return err
		default:
			all.join(part)
		}
	}
	folder := filepath.Join(r.out, e.Name)
	if err := writeFile(filepath.Join(folder, "results.csv"), all.writeCSV); err != nil {
		return err
	}
	p := newPage(folder, e.Name)
	p.paragraph("%s.", strings.ToUpper(e.About[:1])+e.About[1:])
	if missing > 0 {
		p.paragraph("**Part of the experiment:** %d of its %d tasks are still to be measured.", missing, len(tasks))
	}
	if err := e.Report(r.lab, all, p); err != nil {
		return err
	}
	// What an earlier run measured was not loaded in this one; its digests
	// belong on the page all the same. A set of an experiment's own has none.
	for _, name := range all.distinct("set") {
		_, _ = r.lab.records(name)
	}
	if err := p.provenance(r.lab, r.command, tasks, e); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(folder, "README.md"), p.writeTo); err != nil {
		return err
	}
	r.note("wrote %s", filepath.Join(folder, "README.md"))
	return nil
}

// writeFile writes a file beside its place and moves it there.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	b := bufio.NewWriter(f)
	if err := errors.Join(write(b), b.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
