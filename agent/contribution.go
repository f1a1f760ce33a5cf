package agent

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"

	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/aggregator"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// drafted makes the contribution of this party's records before its noise. It never
// fails: what cannot be made is not ready.
func drafted(ctx context.Context, s *site.Site, w window) draft {
	var l late
	in := inputs(s, s.Records(w.study, w.plan, w.records))
	in.Within = l.within(ctx, w.span.Shard)
	failed := func(why error) { s.NoVotes(w.study, why) }
	in.Voter, in.Scorer = s.Voter(failed), s.Scorer(failed)
	d, err := contribution(s, w, in)
	if err != nil {
		return draft{late: "all of it"}
	}
	return draft{Contribution: d, late: l.String()}
}

// settle makes the body of what was drafted, or of no records where nothing was
// ready: it releases what the site releases itself, which is charged already.
//
// Repeated after a crash, publications are the same and nothing is charged
// twice; votes may differ if records or luck differ, which is harmless because
// none has left.
func settle(ctx context.Context, s *site.Site, w window) ([]byte, error) {
	made := w.made.Contribution
	if made.Body == nil {
		var err error
		if made, err = contribution(s, w, inputs(s, source.Empty(w.plan, w.records, s.ShardKey))); err != nil {
			return nil, err
		}
	}
	released, err := study.Settle(ctx, s.Ledger, w.study, made.Requests)
	if err != nil {
		return nil, err
	}
	body, err := made.Body(released)
	if err != nil {
		return nil, err
	}
	if most := w.task.MaxBody(); len(body) > most {
		return nil, fmt.Errorf("make contribution: it has %d bytes, the plan allows %d", len(body), most)
	}
	return body, nil
}

func inputs(s *site.Site, records *dataset.Records) study.Inputs {
	return study.Inputs{Records: records, ShardKey: s.ShardKey, Rng: freshRng()}
}

// freshRng drives learners, never noise.
func freshRng() *mathrand.Rand {
	var seed [16]byte
	rand.Read(seed[:])
	return mathrand.New(mathrand.NewPCG(binary.BigEndian.Uint64(seed[:8]), binary.BigEndian.Uint64(seed[8:])))
}

// contribution is what a party sends for a study, before its noise where it adds any: the
// task's own, or two shares of it, sealed.
func contribution(s *site.Site, w window, in study.Inputs) (study.Contribution, error) {
	if !w.plan.Noise.Shared() {
		return w.task.Contribute(in)
	}
	body, err := aggregator.Contribute(w.task, s.Party, in, w.helper)
	return study.Contribution{Body: func([]privacy.Published) ([]byte, error) { return body, nil }}, err
}
