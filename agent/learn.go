package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// learn fetches the signed plan and its pool, so that people can read them. It agrees to nothing.
func (a *Agent) learn(ctx context.Context, d site.StudyFolder, h study.Hash) (study.Plan, error) {
	if a.complete(d) {
		return d.Plan()
	}
	s, err := a.fetch(ctx, h)
	if err != nil {
		return study.Plan{}, err
	}
	if err := a.keep(d, s); err != nil {
		return study.Plan{}, err
	}
	// if some are stored already, follow compares the two
	if len(s.Amendments) > 0 && !d.Has(site.FileAmendments) {
		if err := d.WriteJSON(site.FileAmendments, s.Amendments); err != nil {
			return study.Plan{}, err
		}
	}
	a.done("plan stored")
	if _, err := a.link.Pool(ctx, s, a.site.PoolsDir); err != nil {
		return study.Plan{}, err
	}
	a.done("pool stored")
	return d.Plan()
}

// complete reports whether this site has plan and pool. An unreadable plan file counts as a plan
// with its pool, because whoever reads the file next reports the fault.
func (a *Agent) complete(d site.StudyFolder) bool {
	if !d.Has(site.FilePlan) {
		return false
	}
	p, err := d.Plan()
	return err != nil || a.site.HasPool(p.Pool)
}

func (a *Agent) fetch(ctx context.Context, h study.Hash) (protocol.Study, error) {
	s, err := a.link.Study(ctx, h.String())
	if err != nil {
		return s, err
	}
	switch {
	case study.HashOf(s.PlanBytes) != h:
		return s, fmt.Errorf("%w: the coordinator sent another plan than %s", study.ErrPlan, h)
	case !slices.Contains(s.Plan.Roster, a.site.Party):
		return s, fmt.Errorf("%w: roster: this party is not on it", study.ErrPlan)
	}
	return s, site.CheckMap(s.Plan)
}

// keep stores the helper's acceptance and the operator's forecast, then the plan with its
// signature.
func (a *Agent) keep(d site.StudyFolder, s protocol.Study) error {
	if err := d.WriteHelperAcceptance(s); err != nil {
		return err
	}
	if s.Forecast.Document != nil {
		if err := d.WriteJSON(site.FileForecast, s.Forecast); err != nil {
			return err
		}
	}
	if err := d.Write(site.FilePlanSignature, s.PlanSignature); err != nil {
		return err
	}
	return d.Write(site.FilePlan, s.PlanBytes)
}

// refresh fetches new plans, unless a running agent does so. It holds the state folder only while
// it writes files and never while it waits for the network, so an agent can start at any time.
func (a *Agent) refresh(ctx context.Context) error {
	if a.site.Config.Courier {
		return nil
	}
	if free, _ := a.whileLocked(func() error { return nil }); !free {
		return nil
	}
	hungUp, err := site.LockCalls(a.site.Config)
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
		d := a.site.Studies.Folder(o.Hash)
		if o.State != study.Open || a.complete(d) {
			continue
		}
		s, err := a.fetch(ctx, o.Hash)
		if err != nil {
			return err
		}
		var pool []byte
		if !a.site.HasPool(s.Plan.Pool) {
			if pool, err = a.link.Pool(ctx, s, ""); err != nil {
				return err
			}
		}
		free, err := a.whileLocked(func() error {
			if err := a.keep(d, s); err != nil || pool == nil {
				return err
			}
			return protocol.WriteSecret(a.site.PoolFile(s.Plan.Pool), pool)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !free {
			return nil // an agent has started meanwhile, and fetches the rest
		}
	}
	return nil
}

// whileLocked runs fn while this process holds the state folder. free is false if another process
// holds it.
func (a *Agent) whileLocked(fn func() error) (free bool, err error) {
	unlock, err := folder.LockForDaemon(a.site.Config.State, "another agent")
	if err != nil {
		return false, nil
	}
	defer unlock()
	return true, fn()
}
