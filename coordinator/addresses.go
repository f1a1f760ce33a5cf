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
	first   int64 // the number of the first list; 0 without replicas

	mu              sync.Mutex // guards the rest
	changed         <-chan struct{}
	list            protocol.Addresses
	plain, numbered *pb.Signed
}

// listsOfEpoch is how many lists a leader may sign before its numbers reach those of the next one.
// Epochs grow, so numbers do.
const listsOfEpoch = 1 << 20

// current returns the addresses, signed (protocol.Addresses.Sign).
func (b *addressBook) current() (a protocol.Addresses, plain, numbered *pb.Signed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.changed:
	default:
		if b.list.List != "" {
			return b.list, b.plain, b.numbered
		}
	}
	now := b.fixed
	if b.cluster != nil {
		b.changed = b.cluster.Changed()
		now = b.cluster.View().Addresses()
	}
	if now != b.list.List {
		b.list = protocol.Addresses{Number: max(b.first, b.list.Number+min(b.first, 1)), List: now}
		b.plain, b.numbered = b.list.Sign(b.signer)
	}
	return b.list, b.plain, b.numbered
}
