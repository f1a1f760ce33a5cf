package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// Left describes what Leave did.
type Left struct {
	Party study.PartyID `json:"party"`
	// Declined lists the open studies that go on without this site. Received counts its
	// contributions to open studies, which stay.
	Declined []string `json:"declined"`
	Received int      `json:"received"`
	// Deleted and Kept list files and folders.
	Deleted []string `json:"deleted"`
	Kept    []string `json:"kept"`
}

// Leave ends this site's membership at the coordinator for good. It declines the open studies that
// have no contribution of it, and deletes identity, keys, studies and imported records here. The
// ledger and the audit log stay, because what was released about people stays released: a site
// that comes back, or joins elsewhere, counts on from there. Leave works only while no agent runs
// on the folder. If the coordinator cannot be reached, nothing is deleted; Leave may be repeated.
func (a *Agent) Leave(ctx context.Context) (Left, error) {
	out := Left{Party: a.Party(), Declined: []string{}}
	fail := func(err error) (Left, error) { return out, fmt.Errorf("leave: %w", err) }
	unlock, err := folder.LockForDaemon(a.site.Config.State, "the agent")
	if err != nil {
		return fail(err)
	}
	defer unlock()
	listing, err := a.link.Studies(ctx)
	if err != nil {
		return fail(err)
	}
	for _, s := range listing.Studies {
		switch {
		case protocol.IsFinal(s.State):
		case s.CallerContributed:
			out.Received++
		case s.State == study.Open:
			if err := a.link.Decline(ctx, s.Hash); err != nil {
				return fail(err)
			}
			out.Declined = append(out.Declined, s.Name)
		}
	}
	if err := a.site.Audit.RecordLeft(); err != nil {
		return fail(err)
	}
	if err := a.link.Leave(ctx, string(a.Party())); err != nil {
		if _, gone := a.link.Studies(ctx); !errors.Is(gone, protocol.ErrDenied) {
			return fail(err)
		}
	}
	if err := a.deleteState(&out); err != nil {
		return fail(err)
	}
	return out, nil
}

// deleteState deletes the state folder, but for ledger and audit log, and the imports.
func (a *Agent) deleteState(out *Left) error {
	state := a.site.Config.State
	all, err := os.ReadDir(state)
	for _, e := range all {
		path := filepath.Join(state, e.Name())
		switch name := e.Name(); {
		case strings.HasPrefix(path, site.LedgerFile(a.site.Config)),
			path == site.AuditFile(a.site.Config):
			out.Kept = append(out.Kept, path)
		case name != "lock":
			out.Deleted = append(out.Deleted, path)
		}
	}
	out.Deleted = append(out.Deleted, a.site.Sources.Imports)
	for _, path := range out.Deleted {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
