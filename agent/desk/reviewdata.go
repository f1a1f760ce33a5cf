package desk

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/agent/site"
	"caucus/dataset"
	"caucus/study"
)

// reviewData reads the records and describes them in r. r.Problems lists what the site must repair.
//
// Proof note: a preview draws no noise. A person who sees several draws and sends one of them
// chooses among draws, and a chosen draw no longer has the distribution that the proof assumes. So
// no mechanism releases anything here, not even in a ledger in memory, and no randomness of the
// system is read. Sizes are the plan's bound (study.Task.MaxBody), and Values are the numbers
// before noise. TestPreviewTouchesNoDice fails at the first random byte.
func (k *Desk) reviewData(r *Review, d site.StudyFolder, p study.Plan, t study.Task) {
	if body, err := d.Read(site.FileUpload); err == nil {
		r.UploadBytes, r.UploadBytesExact = len(body), true
	}
	source, err := k.site.Sources.Of(p)
	if err != nil || source.Refuses(p) != nil {
		return // describe has given the reason
	}
	held, err := k.site.Sources.Open(source, p)
	var records *dataset.Records
	if err == nil {
		records, err = held.All()
	}
	if err != nil {
		r.Problems = append(r.Problems, fmt.Errorf("it would get empty records: %w", err).Error())
		return
	}
	r.RecordsFound, r.Remarks = records.Len(), held.Remarks()
	if p.Where != "" {
		inside := 0
		for _, out := range records.FailsCondition {
			if !out {
				inside++
			}
		}
		r.MeetingCondition = &inside
	}
	r.Problems = append(r.Problems, k.site.Sources.Problems(source, held.SourceReading)...)
	var pool *mat.Dense
	if t != nil {
		pool = t.Pool().Encoded
	}
	added := r.SiteNoise
	r.RecordSummary = sightOf(p, held.SourceReading, records, pool)
	r.SiteNoise = added
	if t == nil {
		return
	}
	if charges, err := t.Charges(0); err == nil {
		forPatients(p, charges, r.Patients)
	}
}

func (k *Desk) review(ctx context.Context, h study.Hash) (Review, error) {
	d := k.site.Studies.Folder(h)
	p, err := d.Plan()
	if err != nil {
		return Review{}, err
	}
	r := k.describe(d, h, p)
	t, err := k.reviewCosts(ctx, &r, d, p)
	if err != nil {
		return Review{}, err
	}
	k.reviewData(&r, d, p, t)
	return r, nil
}

// Preview reviews a study by its name or the start of its hash. It sends and spends nothing. If no
// agent runs on the state folder, it first asks the coordinator for new plans; offline says why
// that failed.
func (k *Desk) Preview(ctx context.Context, name string) (r Review, offline, err error) {
	offline = k.refresh(ctx)
	h, err := k.site.Studies.Find(name)
	if err != nil {
		return Review{}, offline, err
	}
	if r, err = k.review(ctx, h); errors.Is(err, study.ErrPlan) {
		return k.unreadable(h, err), offline, nil
	}
	return r, offline, err
}

// Studies outlines all studies that this site knows.
func (k *Desk) Studies(ctx context.Context) (all []Review, offline, err error) {
	offline = k.refresh(ctx)
	hashes, err := k.site.Studies.All()
	if err != nil {
		return nil, offline, err
	}
	for _, h := range hashes {
		r, err := k.ReviewWithoutRecords(ctx, h)
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

// Task returns the task of a known study on its public pool.
func (k *Desk) Task(h study.Hash) (study.Task, error) {
	p, err := k.site.Studies.Folder(h).Plan()
	if err != nil {
		return nil, err
	}
	return k.site.Task(p)
}
