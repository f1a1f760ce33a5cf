package site

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"caucus/protocol"
	"caucus/study"
)

// IdentityFile is where an agent's key and certificate lie.
func IdentityFile(c Config) string { return filepath.Join(c.State, "identity.yaml") }

// MemoryFile keeps the newest document that the coordinator signed: the agent
// shows it with every call for studies.
func MemoryFile(c Config) string { return filepath.Join(c.State, "coordinator.json") }

// Identity reads who this agent is.
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

// Dial makes a client of the coordinator. It does no I/O: connections come with the
// first call.
func Dial(c Config, id protocol.Identity) (*protocol.Client, error) {
	return protocol.Dial(id, protocol.DialOptions{Coordinator: c.Coordinator, Now: c.Clock.Now, Memory: MemoryFile(c)})
}
