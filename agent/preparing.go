package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"caucus/agent/site"
	"caucus/aggregator/uploading"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// drafted makes the contribution before its noise. It never fails: a draft that cannot be made is
// not ready.
func drafted(ctx context.Context, s *site.Site, w window) draft {
	var l late
	in := s.Records(w.study, w.plan, w.records, study.TakesBlocks(w.task, w.records))
	in.TimeLimit = l.within(ctx, w.span.PerShard)
	failed := func(why error) { s.StoreVoteFailure(w.study, why) }
	in.Voter, in.Scorer = s.Voter(failed), s.Scorer(failed)
	d, err := contribution(s, w, in)
	if err != nil {
		return draft{late: "all of it"}
	}
	return draft{Contribution: d, late: l.String()}
}

// settle makes the body from a draft, or from empty records if no draft was ready. It draws the
// noise of the site's own releases, which are charged already.
//
// If settle runs again after a crash, publications are the same and nothing is charged twice. Votes
// differ only if another shard is late, which does no harm because the earlier ones have not left.
func settle(ctx context.Context, s *site.Site, w window) ([]byte, error) {
	made := w.made.Contribution
	if made.Body == nil {
		var err error
		if made, err = contribution(s, w,
			s.EmptyRecords(w.plan, w.records, study.TakesBlocks(w.task, w.records))); err != nil {
			return nil, err
		}
	}
	released, err := study.ReleaseRequests(ctx, s.Ledger, w.study, made.Requests)
	if err != nil {
		return nil, err
	}
	body, err := made.Body(released)
	if err != nil {
		return nil, err
	}
	if most := w.task.MaxBody(); len(body) > most {
		return nil, fmt.Errorf("make contribution: it has %d bytes, the plan allows %d", len(body), most)
	}
	return body, nil
}

// contribution makes the upload before a party's own noise: the task's contribution, or two
// encrypted shares.
func contribution(s *site.Site, w window, in study.Inputs) (study.Contribution, error) {
	if !w.plan.Noise.Shared() {
		return w.task.Contribute(in)
	}
	body, err := uploading.Contribute(w.task, s.Party, in, w.helper)
	return study.Contribution{Body: func([]privacy.Published) ([]byte, error) {
		return body, nil
	}}, err
}

// fallSilent starts the silence. From its return until a call of speak, no byte leaves this agent,
// its servers do not answer, and no command on this folder calls the coordinator.
func (a *Agent) fallSilent(ctx context.Context) (speak func(), err error) {
	if err := a.link.HangUp(); err != nil {
		return nil, fmt.Errorf("hang up before a contribution is prepared: %w", err)
	}
	end := a.silence.begin()
	for {
		release, err := folder.LockFile(site.CallLockFile(a.site.Config))
		if err == nil {
			return func() { release(); end() }, nil
		}
		// Commands that hold the lock make calls with time limits, so a coordinator cannot delay
		// this for long.
		if !errors.Is(err, folder.ErrLocked) || !a.clock.Sleep(ctx, time.Second) {
			end()
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// prepareNext prepares the first study of the queue in its window, and sends the upload. After a
// failure it tries again: an upload that is not stored has not left, so it is prepared in a new
// window and charged only once.
func (a *Agent) prepareNext(ctx context.Context) {
	w := a.preparation.queue[0]
	a.preparation.queue = a.preparation.queue[1:]
	d := a.site.Studies.Folder(w.study)
	gone := func() bool {
		return ctx.Err() != nil || d.Has(site.FileRefused) || d.Has(site.FileClosed)
	}
	if gone() || a.unapproved(d, w) {
		return
	}
	var err error
	if w.task == nil {
		w.task, err = a.site.Task(w.plan)
	}
	if err == nil {
		err = a.prepare(ctx, d, w)
	}
	if err == nil && d.Has(site.FileUpload) && !gone() && !a.unapproved(d, w) {
		err = a.send(ctx, d, w.offer)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, protocol.ErrToBeCarried) {
		a.logOnce(w.study, slog.LevelWarn, err.Error())
	}
}

// prepare fixes a window, makes and stores a contribution in it, and returns at the moment of the
// upload. In between this process sends nothing: to the coordinator, through its servers, or to a
// log.
func (a *Agent) prepare(ctx context.Context, d site.StudyFolder, w window) error {
	speak, err := a.fallSilent(ctx)
	if err != nil {
		return err
	}
	defer speak()
	w.Schedule, w.began = w.span.StartingAt(a.now()), a.clock.Elapsed()
	a.log.Info("preparing a contribution", "study", w.study.String(), "leaves",
		w.UploadAt.UTC().Format(time.RFC3339))
	if err := d.WriteJSON(site.FileSchedule, w.Schedule); err != nil {
		return err
	}
	a.done("time fixed")
	// left by a window that a crash ended
	if err := errors.Join(d.Remove(site.FileMissedWindow), d.Remove(site.FileReadFailure),
		d.Remove(site.FileVoteFailure)); err != nil {
		return err
	}
	if w.made = a.preparation.within(ctx, w); ctx.Err() == nil && !d.Has(site.FileRefused) &&
		!a.unapproved(d, w) {
		err = a.upload(ctx, d, w)
	}
	runtime.GC() // free the records' memory now, so that this takes no time after the silence
	if !a.preparation.hurry {
		a.clock.Sleep(ctx, w.began+w.span.Total()-a.clock.Elapsed())
	}
	return err
}

// unapproved reports whether a charged study lacks approvals, because its source was declared again
// before or while the records were read. The next round asks for approval again and charges
// nothing.
func (a *Agent) unapproved(d site.StudyFolder, w window) bool {
	by, _ := a.site.Approvers(d, w.study, w.plan)
	return len(by) < a.site.Config.Policy.RequiredApprovals()
}

func (a *Agent) upload(ctx context.Context, d site.StudyFolder, w window) error {
	if late := w.made.late; late != "" {
		if err := d.Write(site.FileMissedWindow,
			fmt.Appendf(nil, "%s, in %v\n", late,
				w.span.Prepare.Round(time.Millisecond))); err != nil {
			return err
		}
	}
	body, err := settle(ctx, a.site, w)
	if err != nil {
		return err
	}
	// before the upload is stored, so that every upload has it
	if err := a.site.StoreLedgerHead(ctx, d); err != nil {
		return err
	}
	a.done("answered")
	if err := d.Write(site.FileUpload, body); err != nil {
		return err
	}
	a.done("upload stored")
	return nil
}
