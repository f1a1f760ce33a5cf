package planning

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
)

// PreparedPlan is a plan that parties can approve, with its pool and forecasts.
type PreparedPlan struct {
	Plan      study.Plan
	Canonical []byte // canonical bytes of the plan
	Hash      study.Hash
	Pool      *auxdata.Pool
	PoolBytes []byte // canonical bytes of the pool
	Remarks   []dataset.Remark
	Size      study.Size
	ShareSD   float64 // mean error that noise adds to a class's share of a set; ratio studies only
	Noise     string  // noise in each number, in words; describe studies only
	Warning   string  // why the noise makes the result useless, else ""
}

// ProposePlan makes a plan by DraftPlan and, if the kind can, forecasts the noise in the result.
func ProposePlan(s study.Proposal, schema dataset.Schema, pool *dataset.Table) (PreparedPlan,
	error) {
	out, task, err := DraftPlan(s, schema, pool)
	if err != nil {
		return out, err
	}
	if t, ok := task.(study.ShareForecaster); ok {
		if out.ShareSD, out.Warning, err = t.ShareError(); err != nil {
			return out, err
		}
	}
	if t, ok := results.Of(task).(study.NoiseForecaster); ok {
		if out.Noise, out.Warning, err = t.ForecastNoise(out.Size); err != nil {
			return out, err
		}
	}
	return out, nil
}

// DraftPlan makes a plan and its task: it fits the public map on the pool and fills in defaults.
func DraftPlan(s study.Proposal, schema dataset.Schema, pool *dataset.Table) (out PreparedPlan,
	task study.Task, err error) {
	var canonical bytes.Buffer
	if pool.Rows() == 0 {
		return out, nil, auxdata.ErrNoRows
	}
	if err := auxdata.WriteCSV(&canonical, schema, pool); err != nil {
		return out, nil, err
	}
	out.PoolBytes = canonical.Bytes()
	records, _, err := schema.Encode(pool)
	if err != nil {
		return out, nil, fmt.Errorf("encode public pool: %w", err)
	}
	p, err := Complete(s, schema)
	if err != nil {
		return out, nil, err
	}
	if p.Map, err = FitMap(p, p.Size(len(p.Roster)), s.Map, records.X); err != nil {
		return out, nil, err
	}
	if out.Pool, out.Remarks, err = auxdata.New(schema, p.Map, pool); err != nil {
		return out, nil, err
	}
	if err := SetPool(&p, out.Pool); err != nil {
		return out, nil, err
	}
	if task, err = kinds.NewTask(p, out.Pool); err != nil {
		return out, nil, err
	}
	if p.TermsDigest, err = study.TermsDigest(task); err != nil {
		return out, nil, err
	}
	out.Plan = p
	if out.Canonical, err = p.Canonical(); err != nil {
		return out, nil, err
	}
	out.Hash = study.HashOf(out.Canonical)
	out.Size = p.Size(len(p.Roster))
	return out, task, nil
}

// Complete makes a plan from a proposal, real or simulated, and fills in the defaults that do not
// follow from the pool. The map keeps all features. The caller then calls SetPool.
func Complete(s study.Proposal, schema dataset.Schema) (study.Plan, error) {
	p := planOf(s, schema)
	kind, err := kinds.FindKind(p.Kind)
	if err != nil {
		return p, err
	}
	s.Kind = p.Kind
	if err := kind.Complete(&p, s); err != nil {
		return p, err
	}
	if s.Delta != nil {
		p.Delta = *s.Delta
	}
	p.ChargeByL2, p.Form = kinds.ChargesByL2(p), study.FormCommitted
	return p, nil
}

// SetPool sets a completed plan's pool and the terms that follow from the pool, and then calls
// Check.
func SetPool(p *study.Plan, pool *auxdata.Pool) error {
	p.Pool = pool.Digest
	kind, err := kinds.FindKind(p.Kind)
	if err != nil {
		return err
	}
	of, err := results.FindResults(p.Kind)
	if err != nil {
		return err
	}
	for _, half := range []any{kind, of} {
		if t, ok := half.(study.PoolTermsSetter); ok {
			if err := t.Tune(p, pool); err != nil {
				return err
			}
		}
	}
	return kinds.Check(*p)
}

func planOf(s study.Proposal, schema dataset.Schema) study.Plan {
	return study.Plan{
		Name: s.Name, Kind: cmp.Or(s.Kind, kinds.Default), Purpose: s.Purpose, Contact: s.Contact, SourceName: s.SourceName,
		Schema: schema.WithoutFormat(), Where: s.Where, Map: dataset.Identity(schema), Roster: s.Roster, Records: cmp.Or(s.Records, study.RecordsPerParty),
		Unit: s.Unit, Choose: s.Choose, PerPatient: s.PerPatient,
		Epsilon: cmp.Or(s.Epsilon, 1), Mechanism: s.Mechanism, Noise: s.Noise, Lambda: s.Lambda,
		Minimum: cmp.Or(s.Minimum, max(2, (3*len(s.Roster)+3)/4)), Floor: s.Floor, Deadline: s.Deadline.UTC().Truncate(time.Second), Seal: s.Seal, Readers: s.Readers, Seed: s.Seed, Weights: s.Weights,
	}
}

// ChooseMap replaces dataset.AutoComponents by the number of components that the plan's kind
// chooses, or by all features if the kind does not choose. It returns any other c unchanged. The
// plan lacks only map and pool. x are the N×Dim encoded rows of the public pool.
func ChooseMap(p study.Plan, size study.Size, c dataset.Components,
	x *mat.Dense) (dataset.Components, error) {
	of, err := results.FindResults(p.Kind)
	if err != nil {
		return c, err
	}
	if c.Project == dataset.AutoComponents {
		if chooser, ok := of.(study.MapChooser); ok {
			return chooser.ChooseMap(p, size, c, x)
		}
		c.Project = 0
	}
	const none = "it is for principal components, and all features are kept: say how many with map.project, or leave it out"
	switch {
	case c.Project == 0 && c.Whiten != 0:
		return c, study.PlanError("map.whiten", none)
	case c.Project == 0 && c.Analysis != "":
		return c, study.PlanError("map.analysis", none)
	case c.Project == 0 && c.Bins:
		return c, study.PlanError("map.bins", "bins lie beside principal components, and all features are kept: say how many components with map.project, or leave bins out")
	}
	return c, nil
}

// FitMap fits a plan's map, chosen by ChooseMap, on the encoded rows of its public pool.
func FitMap(p study.Plan, size study.Size, c dataset.Components, x *mat.Dense) (dataset.Map,
	error) {
	c, err := ChooseMap(p, size, c, x)
	if err != nil {
		return dataset.Map{}, err
	}
	m, err := c.Fit(p.Schema, x)
	if err != nil {
		return m, fmt.Errorf("project the pool: %w", err)
	}
	return m, nil
}
