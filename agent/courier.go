package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"caucus/agent/desk"
	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// If a site's network reaches nobody, people carry files. Answer and Look then make a round with a
// link that reads one file and writes one file. So policy, declaration, approvals, ledger, window,
// audit log and the study's folder work as in any round.
//
// Two things differ:
//   - There is no current time from the coordinator. A time in a file is only a lower bound: if it
//     is ahead of this machine's clock by more than site.MaxYearSkew, nothing is charged. Only
//     this machine decides the year of a charge, and a coordinator cannot move it.
//   - The carriers decide when files arrive, and may lose some. A pack is refused if a newer one
//     was read before. The next pack contains the receipt if the answer arrived.

// NewCourier reads a pack (caucus study pack), checks its signatures, and makes an agent that
// writes its answer to the file out. If out is empty, it writes none. The agent holds the state
// folder until it is closed.
func NewCourier(c site.Config, pack []byte, out string) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("agent config: %w", err)
	}
	id, party, err := site.Identity(c)
	if err != nil {
		return nil, err
	}
	dial := func(c site.Config, id protocol.Identity) (link, error) {
		in := func(name string) func(study.Hash) string {
			return func(h study.Hash) string {
				return filepath.Join(c.Studies().Folder(h).Dir, name)
			}
		}
		return protocol.OpenCourier(pack, id, protocol.CourierOptions{
			AnswerFile: out, Notice: in(site.FileNotice), Answer: in(site.FileAnswer), NewestSignedFile: site.NewestSignedFile(c), Now: c.Clock.Now, OnEffect: c.Checkpoint,
		})
	}
	// Only one process at a time may compare the pack with earlier packs and store it.
	unlock, err := folder.LockForDaemon(c.State, "another agent")
	if err != nil {
		return nil, err
	}
	a, err := newAgent(c, id, party, dial)
	if err != nil {
		unlock()
		return nil, err
	}
	a.unlock = unlock
	return a, nil
}

// PackOutcome is what an agent did with a pack, a file that carries a study to the site.
type PackOutcome struct {
	Study    string        `json:"study"`
	Plan     study.Hash    `json:"plan"`
	Progress desk.Progress `json:"progress"`
	// WroteAnswer reports whether there is an answer to carry. Declined reports that the answer
	// says only that this site does not take part, without a reason.
	WroteAnswer bool `json:"wrote"`
	Declined    bool `json:"declined"`
	// Reason says what delays or ended the study; "" if nothing does.
	Reason string `json:"why,omitempty"`
}

// Answer takes the pack's study as far as possible: it decides, charges, prepares the contribution
// in a window and writes the answer at the window's moment, or says why not. Called again, also
// after a crash, it continues where it stopped, charges nothing twice and writes the same bytes.
func (a *Agent) Answer(ctx context.Context) (PackOutcome, error) { return a.byFile(ctx, false) }

// Inspect stores what a pack says about a study: its plan (for people to read and approve),
// amendments, the receipt, the release, or how it ended. It answers nothing. It charges nothing,
// except for a contribution that the coordinator has and that this folder forgot.
func (a *Agent) Inspect(ctx context.Context) (PackOutcome, error) { return a.byFile(ctx, true) }

func (a *Agent) byFile(ctx context.Context, looking bool) (PackOutcome, error) {
	if a.courier() == nil {
		return PackOutcome{}, errors.New("this agent calls its coordinator: it answers by itself")
	}
	if err := errors.Join(a.site.Studies.RemoveTemporary(), a.site.RemoveScratch()); err != nil {
		return PackOutcome{}, fmt.Errorf("open state folder: %w", err)
	}
	a.looking = looking
	if !looking {
		a.measure()
	}
	about := a.courier().StudyOfFile()
	d := a.site.Studies.Folder(about.Hash)
	for again := true; again; {
		received := d.Has(site.FileReceipt)
		if err := a.PollOnce(ctx); err != nil {
			return PackOutcome{}, err
		}
		// asked before SendCharged, in which the moment may come
		early := d.Has(site.FileUpload) && d.TooEarly(a.now())
		a.SendCharged(ctx)
		wrote, _ := a.courier().Answered()
		// Go round again after a receipt, because the pack may contain later news. Do so too if a
		// crash left a stored upload whose moment has not come.
		again = d.Has(site.FileReceipt) && !received
		if !looking && !wrote && early {
			again = a.clock.Sleep(ctx, pollByFile)
		}
	}
	if err := ctx.Err(); err != nil {
		return PackOutcome{}, err
	}
	out := PackOutcome{Study: about.Name, Plan: about.Hash, Reason: a.logged[about.Hash.String()]}
	out.WroteAnswer, out.Declined = a.courier().Answered()
	review, err := a.ReviewWithoutRecords(ctx, about.Hash)
	if errors.Is(err, fs.ErrNotExist) { // the study ended before this site knew of it
		out.Progress = desk.ProgressClosed
	} else if err != nil {
		return out, err
	} else {
		out.Progress = review.Progress
	}
	if out.Progress == desk.ProgressRefused && len(review.Objections) > 0 {
		out.Reason = desk.DisallowedByPolicy + strings.Join(review.Objections, "; ")
	}
	if why, err := d.Read(site.FileClosed); err == nil && out.Progress == desk.ProgressClosed {
		out.Reason = string(why)
	}
	return out, nil
}

// pollByFile is the interval at which Answer checks whether an upload's moment has come.
const pollByFile = 100 * time.Millisecond

// EnrolRequest makes this agent's key, and a file for people to carry that asks to certify the key.
// The key is on the disk on return, and stays the same until EnrolAccept gets its certificate.
func EnrolRequest(c site.Config) (file []byte, key protocol.Fingerprint, err error) {
	err = enrolling(c, func() error {
		e, err := protocol.LoadOrMakeEnrolment(enrolmentFile(c))
		if err != nil {
			return err
		}
		file, key, err = e.RequestFile()
		return err
	})
	return file, key, err
}

// EnrolAccept makes the identity from the file that the coordinator's operator sent. typed is the
// fingerprint as the operator read it out. A party whose certificate expired enrols again over the
// old identity, and keeps its ledger.
func EnrolAccept(c site.Config, file []byte, typed string) (who protocol.Caller, err error) {
	err = enrolling(c, func() error {
		e, err := protocol.LoadEnrolment(enrolmentFile(c))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no request that this could answer: write one first (caucus agent enrol --request): %w", err)
		}
		if err != nil {
			return err
		}
		id, err := e.AcceptFile(file, typed)
		if err != nil {
			return err
		}
		if who, err = id.Caller(); err != nil {
			return err
		}
		if who.Role != protocol.RoleParty {
			return fmt.Errorf("the certificate is for role %s; an agent needs one for a party", who.Role)
		}
		if err := ownFolder(c, who.Name); err != nil {
			return err
		}
		return enrolled(c, id)
	})
	return who, err
}
