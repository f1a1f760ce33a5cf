package agent

import (
	"context"
	"errors"
	"io/fs"

	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// Preview says what a study is and what would leave for it, by its name, its
// hash or the start of it. It sends nothing and spends nothing. Where no agent
// runs on the state folder, it first asks the coordinator for new plans; if
// that fails, offline says why.
func (a *Agent) Preview(ctx context.Context, name string) (r Review, offline, err error) {
	offline = a.refresh(ctx)
	h, err := a.state.studies.find(name)
	if err != nil {
		return Review{}, offline, err
	}
	r, err = a.state.review(ctx, h)
	return r, offline, err
}

// Task is a study that this site knows, on its public pool.
func (a *Agent) Task(h study.Hash) (study.Task, error) {
	p, err := a.state.studies.of(h).plan()
	if err != nil {
		return nil, err
	}
	return a.state.task(p)
}

// Studies reviews all studies this site knows.
func (a *Agent) Studies(ctx context.Context) (all []Review, offline, err error) {
	offline = a.refresh(ctx)
	hashes, err := a.state.studies.all()
	if err != nil {
		return nil, offline, err
	}
	for _, h := range hashes {
		r, err := a.state.outline(ctx, h)
		if errors.Is(err, study.ErrPlan) {
			r, err = a.state.unreadable(h, err), nil
		}
		if err != nil {
			return nil, offline, err
		}
		all = append(all, r)
	}
	return all, offline, nil
}

// refresh learns new plans, unless a running agent does that. The state folder
// is held only while files are written, never while the network is waited for,
// so an agent can start at any time.
func (a *Agent) refresh(ctx context.Context) error {
	if a.state.config.Courier {
		return nil
	}
	if free, _ := a.whileLocked(func() error { return nil }); !free {
		return nil
	}
	hungUp, err := speaks(a.state.config)
	if err != nil {
		return err
	}
	defer hungUp()
	defer a.link.HangUp()
	listing, err := a.link.Studies(ctx)
	if err != nil {
		return err
	}
	for _, o := range listing.Studies {
		d := a.state.studies.of(o.Hash)
		if o.State != study.Open || a.complete(d) {
			continue
		}
		s, err := a.fetch(ctx, o.Hash)
		if err != nil {
			return err
		}
		var pool []byte
		if !a.state.hasPool(s.Plan.Pool) {
			if pool, err = a.link.Pool(ctx, s, ""); err != nil {
				return err
			}
		}
		free, err := a.whileLocked(func() error {
			if err := a.keep(d, s); err != nil || pool == nil {
				return err
			}
			return protocol.WriteSecret(a.state.poolFile(s.Plan.Pool), pool)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !free {
			return nil // an agent started meanwhile: it learns the rest
		}
	}
	return nil
}

// whileLocked runs fn while this process holds the state folder; free is false
// where another does.
func (a *Agent) whileLocked(fn func() error) (free bool, err error) {
	unlock, err := folder.Hold(a.state.config.State, "another agent")
	if err != nil {
		return false, nil
	}
	defer unlock()
	return true, fn()
}
