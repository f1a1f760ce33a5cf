package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// A study's ending may be amended: its deadline, what seals it before that, and its
// minimum down to the floor that the plan names. What a person or the policy said yes
// to is none of these but the floor, so it stays said; how far a deadline may move is
// the policy's MaxExtension. A study that failed may be taken up again: this site then
// sends what it had sent, the same bytes, and is charged nothing.

// amendments are those that this site knows, as they were signed.
func (d dossier) amendments() (all []study.Signed, err error) {
	b, err := d.read(fileAmendments)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	return all, err
}

// chain is a plan with the amendments that this site knows; their signatures were
// checked when they came.
func (d dossier) chain(p study.Plan, h study.Hash) (*study.Chain, error) {
	all, err := d.amendments()
	if err != nil {
		return nil, err
	}
	return chainOf(p, h, all)
}

func chainOf(p study.Plan, h study.Hash, all []study.Signed) (*study.Chain, error) {
	var documents [][]byte
	for _, a := range all {
		documents = append(documents, a.Document)
	}
	return study.ChainOf(p, h, documents)
}

// ending is the one in force as far as this site knows.
func (d dossier) ending(p study.Plan, h study.Hash) study.Ending {
	if c, err := d.chain(p, h); err == nil {
		return c.Ending()
	}
	return p.Ending()
}

// follow takes note of a study's amendments, and takes it up again where they reopened
// it. stop says that nothing is to be sent for now.
func (a *Agent) follow(ctx context.Context, d dossier, o protocol.Summary) (stop bool, err error) {
	held, err := d.amendments()
	if err != nil {
		return true, err
	}
	if o.Amendments < len(held) {
		a.logOnce(o.Hash, slog.LevelError, fmt.Sprintf("the coordinator signed %d amendments of this study and knows of %d: it was put back to an older state. Nothing is sent; tell its operator (docs/verify.md)", len(held), o.Amendments))
		return true, nil
	}
	if o.Amendments > len(held) {
		if held, err = a.amend(ctx, d, o, held); err != nil {
			return true, err
		}
	}
	if len(held) == 0 {
		return false, nil
	}
	if o.State == study.Open && d.endedAfter() < len(held) { // whether it was killed before or after it was closed
		if err := a.reopen(d, o); err != nil {
			return true, err
		}
	}
	p, err := d.plan()
	if err != nil || o.State != study.Open || d.has(fileReceipt) && !o.Lost {
		return err != nil, err
	}
	err = a.allowsEnding(d, o.Hash, p)
	if errors.Is(err, errRefused) {
		return true, a.decline(ctx, d, o.Hash)
	}
	return err != nil, err
}

// allowsEnding refuses a study that amendments moved beyond what the policy allows.
// Amendments that cannot be read allow nothing.
func (a *Agent) allowsEnding(d dossier, h study.Hash, p study.Plan) error {
	chain, err := d.chain(p, h)
	if err != nil {
		return err
	}
	if no := a.state.config.Policy.endingObjection(p, chain.Ending()); no != "" {
		return a.refuse(h, p.Name, byPolicy, "", no)
	}
	return nil
}

// unforked asks once more for the amendments of an amended study, before it is charged
// and before bytes leave: a list only counts them, and another chain may be as long.
func (a *Agent) unforked(ctx context.Context, d dossier, o protocol.Summary) error {
	held, err := d.amendments()
	if err != nil || len(held) == 0 {
		return err
	}
	_, err = a.amend(ctx, d, o, held)
	return err
}

// amend keeps amendments that this site did not know.
func (a *Agent) amend(ctx context.Context, d dossier, o protocol.Summary, held []study.Signed) ([]study.Signed, error) {
	s, err := a.fetch(ctx, o.Hash)
	if err != nil {
		return nil, err
	}
	chain, err := chainOf(s.Plan, o.Hash, s.Amendments)
	if err != nil {
		return nil, err
	}
	before, err := chainOf(s.Plan, o.Hash, held)
	if err != nil {
		return nil, err
	}
	if !chain.Extends(before) {
		return nil, errors.New("the coordinator signed two different amendments of this study: it was put back to an older state and went on, or tells parties different things. Nothing is sent; tell its operator (docs/verify.md)")
	}
	for _, said := range chain.Amendments()[before.Len():] {
		err := a.recordOnce(auditAmended, o.Hash, o.Name, "number", said.Number, "deadline", said.Ending.Deadline, "minimum", said.Ending.Minimum, "reopens", said.Reopens)
		if err != nil {
			return nil, err
		}
	}
	if err := d.writeJSON(fileAmendments, s.Amendments); err != nil {
		return nil, err
	}
	a.done("amendments stored")
	for _, line := range chain.Changes(before.Len()) {
		a.log.Info("study "+line, "study", o.Hash.String())
	}
	return s.Amendments, nil
}

// reopen takes up a study again that was over for this site because it was over.
func (a *Agent) reopen(d dossier, o protocol.Summary) error {
	if err := a.recordOnce(auditReopened, o.Hash, o.Name); err != nil {
		return err
	}
	for _, name := range []string{fileClosed, fileEnded} {
		if err := d.remove(name); err != nil {
			return err
		}
	}
	a.done("study reopened")
	a.log.Info("study taken up again: what was contributed is sent as it was, and charged once", "study", o.Hash.String())
	return nil
}

// ended notes that a study is over for this site because it is over: an amendment
// after those that there are now may take it up again.
func (a *Agent) ended(d dossier, o protocol.Summary, why string) error {
	if err := d.write(fileEnded, fmt.Appendln(nil, o.Amendments)); err != nil {
		return err
	}
	return a.closed(d, o, why)
}

// endedAfter is how many amendments there were when the study was over for this site
// because it was over; more than there can be where it is over for another reason.
func (d dossier) endedAfter() int {
	b, err := d.read(fileEnded)
	n, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || bad != nil {
		return study.MaxAmendments + 1
	}
	return n
}

// endingObjection says why the policy does not allow an amended ending, "" if it does.
// It depends on plan, amendments and policy alone.
func (p Policy) endingObjection(plan study.Plan, e study.Ending) string {
	if more := e.Deadline.Sub(plan.Deadline); p.MaxExtension > 0 && more > p.MaxExtension {
		return fmt.Sprintf("amendments moved the study's deadline by %v, the policy allows %v (max_extension)", more.Round(time.Minute), p.MaxExtension)
	}
	return ""
}
