package helper

import (
	"context"
	"errors"
	"fmt"

	"caucus/aggregator"
	"caucus/internal/database"
	"caucus/internal/folder"
	"caucus/study"
)

// AcceptedStudy is a study that this helper accepted and neither released nor ended.
type AcceptedStudy struct {
	aggregator.AcceptedStudy
	// Name is the plan's, "" if the plan is not stored here just now.
	Name string `json:"name,omitempty"`
}

// Studies lists the studies that take a place at the helper of a folder, which may run.
func Studies(ctx context.Context, c Config) (all []AcceptedStudy, err error) {
	if err := database.Check(c.path(storeFile)); err != nil {
		return nil, fmt.Errorf("list the helper's studies: %w", err)
	}
	found, err := aggregator.AcceptedStudies(ctx, c.path(storeFile))
	for _, p := range found {
		plan, _, _ := (&planStore{dir: c.path(shelfFolder)}).read(p.Plan)
		all = append(all, AcceptedStudy{p, plan.Name})
	}
	return all, err
}

// ErrNoStudy says that no study of that name takes a place.
var ErrNoStudy = errors.New("no study of that name or hash takes a place here: caucus helper studies lists them")

const endedHere = "the helper's operator ended it without a release"

// End ends a study at a stopped helper, by its name or its plan's hash, and frees its place and its
// part of the budget. The coordinator fails the study once it asks. Nothing is released of it, and
// what the ledger charged stays charged.
func End(ctx context.Context, c Config, name string) error {
	fail := func(err error) error { return fmt.Errorf("end study %s: %w", name, err) }
	unlock, err := folder.LockForDaemon(c.Dir, "the helper")
	if err != nil {
		return fail(err)
	}
	defer unlock()
	all, err := Studies(ctx, c)
	if err != nil {
		return fail(err)
	}
	var plans []study.Hash
	for _, p := range all {
		if p.Name == name || p.Plan.String() == name {
			plans = append(plans, p.Plan)
		}
	}
	if len(plans) == 0 {
		return fail(ErrNoStudy)
	}
	if len(plans) > 1 {
		return fail(errors.New("several studies have this name: give the plan's hash"))
	}
	s := &Server{config: c}
	defer s.Close()
	if err := s.openFiles(); err != nil {
		return fail(err)
	}
	if err := s.server.Cancel(ctx, plans[0], endedHere); err != nil {
		return fail(err)
	}
	return nil
}
