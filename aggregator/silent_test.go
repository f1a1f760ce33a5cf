package aggregator

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"caucus/internal/clock"
	"caucus/protocol"
)

// TestSilent: a helper that is connected and does not answer is known to be silent, as is one that
// nobody listens for, until it answers again. An error that the helper sends is an answer.
func TestSilent(t *testing.T) {
	a := asked{clock: clock.Clock{}.Complete()}
	silent := func(want bool) {
		t.Helper()
		if is := !a.since().IsZero(); is != want {
			t.Errorf("it is silent: %v, want %v", is, want)
		}
	}
	silent(false)
	end := a.begin()
	silent(false)
	a.running[0] = a.running[0].Add(-silence)
	silent(true)
	end(nil)
	silent(false)
	for _, test := range []struct {
		code codes.Code
		want bool
	}{{codes.Unavailable, true}, {codes.Canceled, true}, {codes.DeadlineExceeded, true}, {codes.FailedPrecondition, false}, {codes.Canceled, false}, {codes.DeadlineExceeded, true}, {codes.OK, false}} {
		a.begin()(status.Error(test.code, ""))
		silent(test.want)
	}
	first := time.Now()
	a.begin()(status.Error(codes.Unavailable, ""))
	at := a.since()
	a.begin()(status.Error(codes.Unavailable, ""))
	if !a.since().Equal(at) || at.Before(first) {
		t.Errorf("it is silent since %v, then since %v", at, a.since())
	}
}

// TestDeadlines: no call to a helper that accepts connections and says nothing lasts longer than
// its deadline.
func TestDeadlines(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	helper := must(protocol.NewSigner()).Key()
	r := must(Dial(l.Addr().String(), must(protocol.NewSigner()), helper))
	defer r.Close()
	begun := time.Now()
	if err := r.End(context.Background(), Digest{}); !errors.Is(err, protocol.ErrHelper) || time.Since(begun) > 2*callTime {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
	if r.Silent().IsZero() {
		t.Error("it counts as answered")
	}
}
