package agent

import (
	"context"
	"fmt"
	"log/slog"

	"caucus/agent/desk"
	"caucus/agent/health"
	"caucus/agent/site"
	"caucus/protocol"
	"caucus/study"
)

// New opens the state folder of an enrolled party. It does not dial yet. Close
// the agent, or Run it: Run closes it.
func New(c site.Config) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("agent config: %w", err)
	}
	id, party, err := site.Identity(c)
	if err != nil {
		return nil, err
	}
	return newAgent(c, id, party, dial)
}

func newAgent(c site.Config, id protocol.Identity, party study.PartyID, dial func(site.Config, protocol.Identity) (link, error)) (*Agent, error) {
	c.Clock = c.Clock.Complete()
	s, err := site.Open(c, party)
	if err != nil {
		return nil, err
	}
	l, err := dial(c, id)
	if err != nil {
		s.Close()
		return nil, err
	}
	if err := c.Policy.Helper.ApartFrom(l.Keys()); err != nil {
		l.Close()
		s.Close()
		return nil, fmt.Errorf("agent config: %w", err)
	}
	s.Coordinator = l.Keys()
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{
		site: s, link: l, dial: dial, id: id, log: log.With("party", string(party)),
		said: map[string]string{}, recorded: map[string]bool{}, refused: map[study.Hash]string{}, reports: newReports(c.Quiet), preparation: &preparation{prepare: func(ctx context.Context, w window) draft { return drafted(ctx, s, w) }, clock: c.Clock}, clock: c.Clock, jitter: jitter, counts: health.NewCounts(),
	}
	a.Desk = desk.New(s, a.refresh)
	return a, nil
}
