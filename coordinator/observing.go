package coordinator

import (
	"context"
	"time"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/internal/database"
)

// A replica that stands by looks at what it has heard at each change, and each lookTime; each
// lookEvery while nobody leads. It asks PostgreSQL for the database's identity each identityEvery,
// and waits at most lookTime for an answer.
const (
	lookEvery     = 200 * time.Millisecond
	lookTime      = time.Second
	identityEvery = 5 * time.Second
)

// takeovers remembers which epochs a replica heard of, and when.
type takeovers struct {
	newest int64
	at     []time.Duration // of the last restless time
}

// A silent leader is ended after silence, doubled for each takeover in restless, at most after
// mostSilence, when PostgreSQL ends it anyway (internal/database). A leader says something to
// PostgreSQL each second, so silence is two of its words.
const (
	silence     = 2 * time.Second
	mostSilence = 5 * time.Second
	restless    = time.Minute
)

// silence returns how long PostgreSQL must not have heard from the leader under an epoch before its
// session is ended. A first epoch is no takeover.
func (t *takeovers) silence(epoch int64, now time.Duration) time.Duration {
	if epoch > t.newest {
		if t.newest > 0 {
			t.at = append(t.at, now)
		}
		t.newest = epoch
	}
	for len(t.at) > 0 && now-t.at[0] >= restless {
		t.at = t.at[1:]
	}
	return min(silence<<min(len(t.at), 8), mostSilence)
}

// observe watches the leader until the function that it returns is called: it ends a leader's
// session if neither the other replicas nor PostgreSQL hear from it, and keeps the ledger's head
// that the leader tells.
func (f *follower) observe(ctx context.Context) func() {
	ctx, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		o := database.NewObserver(f.config.Store)
		defer o.Close()
		clock := f.config.Clock
		var seen takeovers
		var head string
		for last := -identityEvery; ctx.Err() == nil; {
			changed := f.cluster.Changed()
			now := clock.Elapsed()
			known := f.cluster.View().Own.Database != ""
			if now-last >= identityEvery || !known && now-last >= lookTime {
				last = now
				if err := f.identify(ctx, o, lookTime); err != nil {
					f.config.Log.Debug("PostgreSQL does not say which database it is", "error", err)
				}
			}
			v := f.cluster.View()
			if leader, known := v.Leader(); known && leader.LedgerHead != "" &&
				leader.LedgerHead != head {
				head = leader.LedgerHead
				if err := folder.StoreReplicaHead(f.config, head); err != nil {
					f.config.Log.Error("the leader's ledger head is not kept", "error", err)
				}
			}
			epoch, led := v.NewestEpoch()
			wait := lookTime
			if after := seen.silence(epoch, now); !led {
				f.endSilent(ctx, o, epoch, after)
				wait = lookEvery
			}
			again, enough := clock.After(wait)
			select {
			case <-changed:
			case <-again:
			case <-ctx.Done():
			}
			enough()
		}
	}()
	return func() { end(); <-done }
}

// identify asks PostgreSQL, at most for a time, which database this replica uses, and says so.
func (f *follower) identify(
	ctx context.Context, o *database.Observer, most time.Duration,
) error {
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	id, err := o.Identity(ctx)
	if err == nil {
		f.cluster.UpdateState(func(own *cluster.State) { own.Database = id })
	}
	return err
}

func (f *follower) endSilent(
	ctx context.Context, o *database.Observer, epoch int64, after time.Duration,
) {
	one, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	switch ended, err := o.EndSilentLeader(one, epoch, after); {
	case ended:
		f.config.Log.Warn("the leader is silent to PostgreSQL and to the other replicas: its sessions were ended", "epoch", epoch)
	case err != nil && ctx.Err() == nil:
		f.config.Log.Debug("PostgreSQL does not say whether the leader is silent", "error", err)
	}
}
