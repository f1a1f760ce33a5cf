package site

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"caucus/internal/folder"
	"caucus/protocol"
	"caucus/study"
)

// IdentityFile is the path of an agent's key and certificate.
func IdentityFile(c Config) string { return filepath.Join(c.State, "identity.yaml") }

// NewestSignedFile holds the newest document that the coordinator signed. Each poll sends it back
// to the coordinator.
func NewestSignedFile(c Config) string { return filepath.Join(c.State, "coordinator.json") }

// Identity reads this agent's identity and party name from the state folder. It fails with advice
// if the agent is not enrolled.
func Identity(c Config) (protocol.Identity, study.PartyID, error) {
	id, err := protocol.LoadIdentity(IdentityFile(c))
	if errors.Is(err, fs.ErrNotExist) {
		return id, "", fmt.Errorf("this agent is not enrolled: ask the coordinator's operator for an invitation and run caucus agent enrol (%w)", err)
	}
	if err != nil {
		return id, "", err
	}
	caller, err := id.Caller()
	if err != nil {
		return id, "", err
	}
	if caller.Role != protocol.RoleParty {
		return id, "", fmt.Errorf("%s is for role %s, an agent is a party: enrol it with a party's invitation", IdentityFile(c), caller.Role)
	}
	return id, study.PartyID(caller.Name), nil
}

// Dial makes a client of the coordinator. The first call connects.
func Dial(c Config, id protocol.Identity) (*protocol.Client, error) {
	return protocol.Dial(id, protocol.DialOptions{Coordinator: c.Coordinator, Now: c.Clock.Now,
		NewestSignedFile: NewestSignedFile(c)})
}

// ErrCallsLocked says that an agent prepares a contribution on the state folder. Until the
// contribution has left, no other process may call the coordinator, because the time of the call
// could reveal something about the records.
var ErrCallsLocked = errors.New("a contribution is being prepared on this state folder, and until it has left nothing here calls the coordinator: try again then")

// LockCalls lets this process call the coordinator until it calls hungUp. Several processes may do
// so at once, but none while an agent on the folder is silent.
func LockCalls(c Config) (hungUp func(), err error) {
	release, err := folder.LockFileShared(CallLockFile(c))
	if errors.Is(err, folder.ErrLocked) {
		return nil, ErrCallsLocked
	}
	if err != nil {
		return nil, fmt.Errorf("look whether an agent is at work: %w", err)
	}
	return release, nil
}

// CallLockFile is the lock that calling processes share, and that a silent agent holds alone.
func CallLockFile(c Config) string { return filepath.Join(c.State, "voice") }
