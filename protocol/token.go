package protocol

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"caucus/internal/clock"
)

// A join token is an invitation for many parties: its holder enrols parties up to the token's
// quota. It is an Invitation with the token's name and RoleToken. The coordinator stores the serial
// of the token's certificate, but not its key.

// joinPatience bounds Join's retries. The coordinator takes 20 calls a second for each token.
const joinPatience = 2 * time.Minute

// Join redeems one place of a join token, under a name with the token's prefix. If name is empty,
// the coordinator chooses one. The same enrolment gets the same certificate again and takes no
// second place. Join retries while the coordinator is busy.
func Join(ctx context.Context, v Invitation, e Enrolment, name string,
	o DialOptions) (Identity, error) {
	if v.Role != RoleToken {
		return Identity{}, fmt.Errorf("join: %w: this is no join token, but an invitation of %s %s", ErrInvalid, v.Role, v.Name)
	}
	if name != "" && !strings.HasPrefix(name, v.Prefix) { // refuse early, as the coordinator would
		return Identity{}, fmt.Errorf("join as %s: %w: this token's names begin with %s: leave the name away, and the coordinator gives one", name, ErrInvalid, v.Prefix)
	}
	sleeper, waited := clock.Clock{}.Complete(), time.Duration(0)
	for wait := time.Second; ; wait = min(2*wait, 16*time.Second) {
		id, err := redeem(ctx, v, e, name, o)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, ErrBusy) || waited > joinPatience {
			return Identity{}, fmt.Errorf("join by token %s: %w", v.Name, err)
		}
		waited += wait
		// so that parties refused at the same time do not all retry at the same time
		if !sleeper.Sleep(ctx, wait/2+rand.N(wait/2)) {
			return Identity{}, ctx.Err()
		}
	}
}
