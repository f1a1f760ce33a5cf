package server

import (
	"context"
	"fmt"

	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// StudyKeys asks the leading replica for the keys that encrypt ballots in PostgreSQL, as a caller
// with RoleReplica. It calls take with all keys: at once, at each change, and each second. It
// returns when ctx ends or the connection breaks.
func StudyKeys(ctx context.Context, c *protocol.Client,
	take func(map[study.Hash][]byte)) error {
	fail := func(err error) error { return fmt.Errorf("keys of ballots: %w", err) }
	stream, err := pb.NewReplicasClient(c.Connection()).StudyKeys(ctx, &pb.StudyKeysRequest{})
	if err != nil {
		return fail(protocol.FromStatus(err))
	}
	for {
		part, err := stream.Recv()
		if err != nil {
			return fail(protocol.FromStatus(err))
		}
		all := map[study.Hash][]byte{}
		for _, k := range part.Keys {
			if len(k.PlanHash) != len(study.Hash{}) || len(k.Key) != 32 {
				return fail(fmt.Errorf("%w: a key has %d bytes, its study's hash %d", protocol.ErrDamaged,
					len(k.Key), len(k.PlanHash)))
			}
			all[study.Hash(k.PlanHash)] = k.Key
		}
		take(all)
	}
}
