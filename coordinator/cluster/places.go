package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net"

	"caucus/protocol"
)

// Endpoints says where replicas of a coordinator find each other.
type Endpoints struct {
	// Listen is the host:port for other replicas. Empty means that this replica looks for none.
	Listen string `yaml:"listen"`
	// Advertise is the host:port that the others dial. Empty means Listen.
	Advertise string `yaml:"advertise"`
	// Join is the host:port of one replica or more that may be up; the others are learned from it.
	Join []string `yaml:"join"`
}

// AdvertisedAddress is where the others dial this replica.
func (e Endpoints) AdvertisedAddress() string { return cmp.Or(e.Advertise, e.Listen) }

// longestAddress bounds State.Address, because all of State must fit into 512 bytes.
const longestAddress = 100

// Validate returns an error that names the wrong key and says what to do. address is what agents
// dial to reach this replica.
func (e Endpoints) Validate(address string) error {
	if e.Listen == "" {
		if e.Advertise != "" || len(e.Join) > 0 {
			return errors.New("listen: not given: it is the host:port for other replicas")
		}
		return nil
	}
	if err := protocol.CheckAddresses(address); err != nil {
		return fmt.Errorf("agents dial what this replica has under address or else listen: %w", err)
	}
	if len(address) > longestAddress {
		return fmt.Errorf("address: %d characters: name this replica alone, in at most %d; agents learn the others", len(address), longestAddress)
	}
	if _, _, err := net.SplitHostPort(e.Listen); err != nil {
		return fmt.Errorf("listen: %q is no host:port, such as 10.0.0.1:7543", e.Listen)
	}
	if err := protocol.CheckAddress(e.AdvertisedAddress()); err != nil {
		return fmt.Errorf("advertise: %w", err)
	}
	for _, at := range e.Join {
		if err := protocol.CheckAddress(at); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	return nil
}
