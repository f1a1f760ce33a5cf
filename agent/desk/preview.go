package desk

import (
	"context"
	"errors"

	"caucus/study"
)

// Preview says what a study is and what would leave for it, by its name, its
// hash or the start of it. It sends nothing and spends nothing. Where no agent
// runs on the state folder, it first asks the coordinator for new plans; if
// that fails, offline says why.
func (k *Desk) Preview(ctx context.Context, name string) (r Review, offline, err error) {
	offline = k.refresh(ctx)
	h, err := k.site.Studies.Find(name)
	if err != nil {
		return Review{}, offline, err
	}
	r, err = k.review(ctx, h)
	return r, offline, err
}

// Studies reviews all studies this site knows.
func (k *Desk) Studies(ctx context.Context) (all []Review, offline, err error) {
	offline = k.refresh(ctx)
	hashes, err := k.site.Studies.All()
	if err != nil {
		return nil, offline, err
	}
	for _, h := range hashes {
		r, err := k.Outline(ctx, h)
		if errors.Is(err, study.ErrPlan) {
			r, err = k.unreadable(h, err), nil
		}
		if err != nil {
			return nil, offline, err
		}
		all = append(all, r)
	}
	return all, offline, nil
}

// Task is a study that this site knows, on its public pool.
func (k *Desk) Task(h study.Hash) (study.Task, error) {
	p, err := k.site.Studies.Of(h).Plan()
	if err != nil {
		return nil, err
	}
	return k.site.Task(p)
}
