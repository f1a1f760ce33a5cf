package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"caucus/agent/site"
	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// link is the agent's connection to a coordinator; *protocol.Client implements it. It checks
// results against hashes and the coordinator's signature. Every call may be repeated.
type link interface {
	Studies(ctx context.Context) (protocol.Listing, error)
	// SetHeartbeat sets the report about this agent that every later call of Studies sends.
	SetHeartbeat(protocol.Heartbeat)
	Study(ctx context.Context, ref string) (protocol.Study, error)
	Pool(ctx context.Context, s protocol.Study, dir string) ([]byte, error)
	Contribute(ctx context.Context, plan study.Hash, body []byte) (protocol.Receipt, error)
	Decline(ctx context.Context, plan study.Hash) error
	Leave(ctx context.Context, name string) error
	Release(ctx context.Context, ref string) (protocol.SignedRelease, error)
	Renew(ctx context.Context) (protocol.Identity, error)
	Keys() protocol.Keys
	// HangUp ends the connection. After it returns, no byte leaves before the next call.
	HangUp() error
	Close() error
}

func enrolmentFile(c site.Config) string { return filepath.Join(c.State, "enrolment.yaml") }

// Enrol turns an invitation into this agent's identity, once. The key is made here, is on the disk
// before the invitation is used, and never leaves. If Enrol fails, run it again with the same
// invitation. A party whose certificate expired or was revoked enrols again over the old identity,
// and keeps its ledger.
func Enrol(ctx context.Context, c site.Config, invitation string) (protocol.Caller, error) {
	fail := func(err error) (protocol.Caller, error) {
		return protocol.Caller{}, fmt.Errorf("enrol: %w", err)
	}
	i, err := protocol.ParseInvitation(invitation)
	if err != nil {
		return fail(err)
	}
	if i.Role == protocol.RoleToken {
		return fail(errors.New("this is a join token: give it as --token"))
	}
	if i.Role != protocol.RoleParty {
		return fail(fmt.Errorf("the invitation is for role %s; an agent needs one for a party", i.Role))
	}
	var who protocol.Caller
	err = enrolling(c, func() error {
		if err := ownFolder(c, i.Name); err != nil {
			return err
		}
		e, err := protocol.LoadOrMakeEnrolment(enrolmentFile(c))
		if err != nil {
			return err
		}
		id, err := protocol.Enrol(ctx, i, e,
			protocol.DialOptions{Coordinator: c.Coordinator, Now: c.Clock.Now})
		if err != nil {
			return err
		}
		if err := enrolled(c, id); err != nil {
			return err
		}
		who, err = id.Caller()
		return err
	})
	return who, err
}

// Join takes a place of a join token, under a name that has the token's prefix; for an empty name
// the coordinator chooses one. If Join fails, run it again: the key is on the disk and takes only
// one place. An agent that is enrolled at this coordinator already stays as it is, and before is
// true, so that a set-up script may repeat Join.
func Join(ctx context.Context, c site.Config, token, name string) (who protocol.Caller, before bool,
	err error) {
	fail := func(err error) (protocol.Caller, bool, error) {
		return protocol.Caller{}, false, fmt.Errorf("enrol: %w", err)
	}
	v, err := protocol.ParseInvitation(token)
	if err != nil {
		return fail(err)
	}
	if v.Role != protocol.RoleToken {
		return fail(fmt.Errorf("this is no join token, but an invitation of %s %s: give it as --invitation", v.Role, v.Name))
	}
	err = enrolling(c, func() error {
		had, party, err := site.Identity(c)
		switch {
		case err == nil:
			if err := joined(c, had, string(party), v, name); err != nil {
				return err
			}
			before = true
			who, err = had.Caller()
			return err
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		e, err := protocol.LoadOrMakeEnrolment(enrolmentFile(c))
		if err != nil {
			return err
		}
		id, err := protocol.Join(ctx, v, e, name,
			protocol.DialOptions{Coordinator: c.Coordinator, Now: c.Clock.Now})
		if err != nil {
			return err
		}
		if is, err := id.Caller(); err != nil || party != "" && is.Name != string(party) {
			return errors.Join(err,
				anotherParty(c.State, string(party), "the certificate is of", is.Name))
		}
		if err := enrolled(c, id); err != nil {
			return err
		}
		who, err = id.Caller()
		return err
	})
	return who, before, err
}

// joined refuses an identity that has expired, or of another coordinator or name than the token's.
func joined(c site.Config, had protocol.Identity, party string, v protocol.Invitation,
	name string) error {
	_, until, err := had.Validity()
	if err != nil {
		return err
	}
	switch {
	case had.Signer != v.Signer:
		return fmt.Errorf("%s belongs to party %s of another coordinator, and so does its ledger: give this one a state folder of its own", c.State, party)
	case name != "" && name != party:
		return anotherParty(c.State, party, "this is for", name)
	case !c.Now().Before(until):
		return fmt.Errorf("the certificate of %s ended on %s: ask the operator for an invitation of that name; a join token makes new parties only", party, until.Format(time.DateOnly))
	}
	return nil
}

func enrolled(c site.Config, id protocol.Identity) error {
	if err := id.Save(site.IdentityFile(c)); err != nil {
		return err
	}
	return os.Remove(enrolmentFile(c))
}

// enrolling makes the state folder, and runs fn while this process holds it.
func enrolling(c site.Config, fn func() error) error {
	fail := func(err error) error { return fmt.Errorf("enrol: %w", err) }
	if c.State == "" {
		return fail(errors.New("state: name the folder that keeps the agent's identity and ledger"))
	}
	if err := os.MkdirAll(c.State, 0o700); err != nil {
		return fail(err)
	}
	unlock, err := folder.LockForDaemon(c.State, "another agent")
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if err := fn(); err != nil {
		return fail(err)
	}
	return nil
}

func ownFolder(c site.Config, name string) error {
	_, party, err := site.Identity(c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case string(party) != name:
		return anotherParty(c.State, string(party), "this is for", name)
	}
	return nil
}

// anotherParty says that the folder state belongs to party, while a certificate or an invitation
// (what) is of other.
func anotherParty(state, party, what, other string) error {
	return fmt.Errorf("%[1]s belongs to party %[2]s, and so does its ledger; %[3]s %[4]s: give %[4]s an agent.yaml that names another folder under state", state, party, what, other)
}

func dial(c site.Config, id protocol.Identity) (link, error) { return site.Dial(c, id) }
