package coordinator

import (
	"sync"

	"caucus/coordinator/cluster"
	"caucus/protocol"
	"caucus/protocol/pb"
)

// addressBook signs the addresses that agents should know: those of the replicas that live or went
// less than a day ago, or the ones in the configuration.
type addressBook struct {
	signer  *protocol.Signer
	cluster *cluster.Cluster // nil: fixed is all that is known
	fixed   string
	// first is the number of the first list; 0 without replicas. It counts milliseconds until the
	// lease began, by PostgreSQL's clock. That clock goes on when PostgreSQL is restored from a
	// backup, and epochs do not. Later leaders have later first numbers, unless one before signed
	// a list each millisecond, or PostgreSQL's clock was set back. Then agents keep the addresses
	// that they have until the clock has caught up.
	first int64

	mu              sync.Mutex // guards the rest
	changed         <-chan struct{}
	list            protocol.Addresses
	plain, numbered *pb.Signed
}

// current returns the addresses, signed without and with their number (protocol.Addresses.Sign).
func (a *addressBook) current() (protocol.Addresses, *pb.Signed, *pb.Signed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.changed:
	default:
		if a.list.List != "" {
			return a.list, a.plain, a.numbered
		}
	}
	now := a.fixed
	if a.cluster != nil {
		a.changed = a.cluster.Changed()
		now = a.cluster.View().Addresses()
	}
	if now != a.list.List {
		a.list = protocol.Addresses{Number: max(a.first, a.list.Number+min(a.first, 1)), List: now}
		a.plain, a.numbered = a.list.Sign(a.signer)
	}
	return a.list, a.plain, a.numbered
}
