package protocol

import (
	"slices"
	"time"

	"caucus/protocol/pb"
	"caucus/study"
)

// WaitReason is the public reason why a party has not contributed to an open study.
type WaitReason string

// Each reason follows from the plan, from the party's policy, ledger, declaration, people and
// clock, and from the helper's acceptance that this coordinator passes on.
const (
	WaitApproval WaitReason = "approval"
	WaitSource   WaitReason = "source"
	WaitDeclined WaitReason = "declined"
	WaitClock    WaitReason = "clock"
	WaitDeadline WaitReason = "deadline"
	WaitHelper   WaitReason = "helper"
	WaitDay      WaitReason = "day"
	WaitLedger   WaitReason = "ledger"
	WaitLeft     WaitReason = "left" // said by the coordinator
)

var waitWords = map[WaitReason]string{
	WaitApproval: "a person there has to approve it",
	WaitSource:   "nobody there has declared the source that it asks for",
	WaitDeclined: "it takes no part: its policy or its ledger does not allow it, or a person there refused",
	WaitLeft:     "it has left, and calls no more",
	WaitClock:    "its clock and the coordinator's are more than an hour apart",
	WaitHelper:   "the acceptance that it gets from here is not by the helper and the keys that its policy names, or there is none",
	WaitDay:      "it has taken up as many studies today as its policy allows in a day",
	WaitLedger:   "its ledger cannot be read, or is behind what it contributed: a person there has to look",
	WaitDeadline: "too little time is left before the deadline for it to prepare",
}

// Valid reports whether w is one of the reasons above. The coordinator passes on no others.
func (w WaitReason) Valid() bool { return waitWords[w] != "" }

// Words says the reason to an operator, about "it", the party. An unknown reason gives "".
func (w WaitReason) Words() string { return waitWords[w] }

// Heartbeat is a party's report about itself in each call of Studies.
type Heartbeat struct {
	// ProcessID is a random number that the party's process drew at its start.
	ProcessID []byte
	// Waits says why open studies wait for this party.
	Waits map[study.Hash]WaitReason
	// HeldReleases lists studies of which the party has the release, newest first.
	HeldReleases []study.Hash
}

// MaxWaits bounds the waits and the releases in a heartbeat.
const MaxWaits = 256

// SetHeartbeat sets the heartbeat of all later calls of Studies.
func (c *Client) SetHeartbeat(r Heartbeat) {
	c.heartbeatMu.Lock()
	defer c.heartbeatMu.Unlock()
	c.heartbeat = r
}

func (c *Client) reported(to *pb.ListRequest) {
	c.heartbeatMu.Lock()
	defer c.heartbeatMu.Unlock()
	to.Run = c.heartbeat.ProcessID
	for h, what := range c.heartbeat.Waits {
		if len(to.Waits) < MaxWaits {
			to.Waits = append(to.Waits, &pb.Wait{PlanHash: h[:], What: string(what)})
		}
	}
	for _, h := range c.heartbeat.HeldReleases[:min(len(c.heartbeat.HeldReleases), MaxWaits)] {
		to.Holds = append(to.Holds, h[:])
	}
	slices.SortFunc(to.Waits, func(a, b *pb.Wait) int {
		return slices.Compare(a.PlanHash, b.PlanHash)
	})
}

// PartyStatus is the coordinator's knowledge of a party that has not contributed.
type PartyStatus struct {
	Party string `json:"party"`
	// Wait is empty if the party reported none.
	Wait WaitReason `json:"waits_for,omitempty"`
	// LastCall is the time of the last call since the coordinator started, else zero.
	LastCall time.Time `json:"seen,omitzero"`
}

// Words describes the status. now is the coordinator's time.
func (p PartyStatus) Words(now time.Time) string {
	seen := "has not called since the coordinator started"
	if !p.LastCall.IsZero() {
		seen = "called " + TimeAgo(now.Sub(p.LastCall))
	}
	if p.Wait == "" {
		return p.Party + ": " + seen
	}
	return p.Party + ": " + p.Wait.Words() + " (" + seen + ")"
}

// TimeAgo formats a past duration, for example 90s as "1m30s ago".
func TimeAgo(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "just now"
	case d < 2*time.Minute:
		return d.Round(time.Second).String() + " ago"
	case d < 48*time.Hour:
		return d.Round(time.Minute).String() + " ago"
	}
	return d.Round(24*time.Hour).String() + " ago"
}

// TimeOf converts milliseconds since 1970, of which 0 is no time.
func TimeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}
