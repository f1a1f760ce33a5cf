package watch_test

import (
	"fmt"
	"log/slog"
	"time"

	"caucus/coordinator/watch"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
)

// A party's last call says, with one of a few words, why a study waits for the party.
func Example() {
	presence := watch.NewPresence(slog.New(slog.DiscardHandler))
	hash, now := study.Hash{1}, time.Unix(1_800_000_000, 0)
	presence.Note(protocol.Caller{Name: "hospital-a", Role: protocol.RoleParty}, &pb.ListRequest{
		Run: []byte("one process"), Waits: []*pb.Wait{{PlanHash: hash[:], What: string(protocol.WaitApproval)}},
	}, now)
	for _, s := range presence.Statuses(hash, []string{"hospital-a", "hospital-b"}, nil) {
		fmt.Printf("%s: called %t, waits for %q\n", s.Party, s.SeenUnixMillis != 0, s.What)
	}
	// Output:
	// hospital-a: called true, waits for "approval"
	// hospital-b: called false, waits for ""
}
