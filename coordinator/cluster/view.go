package cluster

import (
	"slices"
	"strings"
	"time"

	"caucus/protocol"
)

// State is what a replica says of itself. It travels in memberlist's metadata, at most 512 bytes of
// JSON.
type State struct {
	// Address is what agents dial; several have commas between them.
	Address string `json:"address"`
	// Version names the program; Schemas are the numbers of migrations that it knows for each of
	// its databases.
	Version string `json:"version,omitempty"`
	Schemas []int  `json:"schemas,omitempty"`
	// Database tells the replica's database from others, and from copies that were promoted apart:
	// SYSTEM/TIMELINE/NAME (database.Identity). Empty means not known yet.
	Database string `json:"database,omitempty"`
	// IsLeader says that the replica holds the lease. Epoch is the one under which it leads or led.
	IsLeader bool  `json:"leads,omitempty"`
	Epoch    int64 `json:"epoch,omitempty"`
	// Keys counts the studies whose keys of ballots the replica holds.
	Keys int `json:"keys"`
	// LedgerHead is the ledger's head (privacy.LedgerHead), which a leader says.
	LedgerHead string `json:"head,omitempty"`
}

// Member is a replica as another one last heard of it.
type Member struct {
	// Name is the process's. No other process ever has the same.
	Name string `json:"name"`
	// GossipAddress is the host:port where it listens for replicas.
	GossipAddress string `json:"at"`
	Alive         bool   `json:"alive"`
	// Since is when it came or went, by the clock of the replica that says so.
	Since time.Time `json:"since"`
	State
}

// View is what one replica has heard: itself, the living, and those that went less than a day ago.
type View struct {
	Own              Member   // as the replica says it now, which others may not have heard yet
	Members          []Member // sorted by address, Own included
	NewestKnownEpoch int64    // the highest epoch that was ever heard of over Own's database
}

// over says that m uses the same database as the replica whose view it is, as far as both know.
func (v View) over(m Member) bool { return m.Database == v.Own.Database }

// first returns the first member, by address, of which a condition holds.
func (v View) first(is func(Member) bool) (Member, bool) {
	i := slices.IndexFunc(v.Members, is)
	if i < 0 {
		return Member{}, false
	}
	return v.Members[i], true
}

// NewestEpoch returns the newest epoch heard of, 0 for none, and whether a living replica may lead
// under it or a later one: one says so, or nothing was heard of any leader and no replica is gone.
// Then a replica may lead that does not gossip. Only replicas over the same database count.
func (v View) NewestEpoch() (int64, bool) {
	if leader, known := v.Leader(); known {
		return v.NewestKnownEpoch, leader.Epoch == v.NewestKnownEpoch
	}
	_, missed := v.first(func(m Member) bool { return !m.Alive && v.over(m) })
	return v.NewestKnownEpoch, v.NewestKnownEpoch == 0 && !missed
}

// Leader returns the living replica that leads over the same database under the highest epoch.
func (v View) Leader() (Member, bool) {
	var leader Member
	known := false
	for _, m := range v.Members {
		if m.Alive && m.IsLeader && v.over(m) && (!known || m.Epoch > leader.Epoch) {
			leader, known = m, true
		}
	}
	return leader, known
}

// RivalLeader returns another living replica that says that it leads, over another database or
// under an epoch that is not older. While there is one, the replica whose view it is must release
// nothing, though it holds a lease: one of the two databases is a copy, and both would draw noise
// for the same release.
func (v View) RivalLeader() (Member, bool) {
	return v.first(func(m Member) bool {
		return m.Name != v.Own.Name && m.Alive && m.IsLeader &&
			(!v.over(m) || m.Epoch >= v.Own.Epoch)
	})
}

// OlderProgram returns a living replica over the same database whose program knows fewer
// migrations. If the replica whose view it is led, it would migrate the store away from that one.
func (v View) OlderProgram() (Member, bool) {
	return v.first(func(m Member) bool {
		return m.Alive && v.over(m) && slices.Compare(m.Schemas, v.Own.Schemas) < 0
	})
}

// KeyHolders returns the other living replicas that hold keys of ballots, the one with the most
// first.
func (v View) KeyHolders() []Member {
	var all []Member
	for _, m := range v.Members {
		if m.Name != v.Own.Name && m.Alive && m.Keys > 0 && v.over(m) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Member) int { return b.Keys - a.Keys })
	return all
}

// Addresses are those that agents should know: of the living and of those that went less than a day
// ago, sorted, with commas between them. A replica over another system of PostgreSQL has no place
// there; one that has not noticed yet that a standby was promoted has. While Own does not know its
// system, all have.
func (v View) Addresses() string {
	var all []string
	own, _, _ := strings.Cut(v.Own.Database, "/")
	for _, m := range v.Members {
		system, _, _ := strings.Cut(m.Database, "/")
		for a := range strings.SplitSeq(m.Address, ",") {
			if (own == "" || system == own || system == "") && protocol.CheckAddress(a) == nil {
				all = append(all, a)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}
