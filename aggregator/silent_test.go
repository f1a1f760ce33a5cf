package aggregator

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"caucus/internal/clock"
	"caucus/protocol"
	"caucus/protocol/pb"
)

// TestSilent: a helper that is connected and does not answer counts as silent, and so does one that
// cannot be reached, until it answers again. An error from the helper is an answer. A helper that
// answers other calls during a long one is busy.
func TestSilent(t *testing.T) {
	a := asked{clock: clock.Clock{}.Complete()}
	silent := func(want bool) {
		t.Helper()
		if at, busy := a.since(); (!at.IsZero() && !busy) != want {
			t.Errorf("it is silent: %v, want %v", at, want)
		}
	}
	since := func() time.Time { at, _ := a.since(); return at }
	silent(false)
	end := a.begin()
	silent(false)
	a.running[0] = a.running[0].Add(-silence)
	silent(true)
	a.begin()(nil)
	silent(false)
	if at, busy := a.since(); !busy || !at.Equal(a.running[0]) {
		t.Errorf("it works since %v (%v), want %v", at, busy, a.running[0])
	}
	a.answered = a.answered.Add(-silence)
	silent(true)
	if !since().Equal(a.answered) {
		t.Errorf("it is silent since %v, and answered at %v", since(), a.answered)
	}
	a.begin()(nil)
	end(status.Error(codes.DeadlineExceeded, "")) // the helper was busy all the time
	silent(false)
	for _, test := range []struct {
		code codes.Code
		want bool
	}{{codes.Unavailable, true}, {codes.Canceled, true}, {codes.DeadlineExceeded, true},
		{codes.FailedPrecondition, false}, {codes.Canceled, false}, {codes.DeadlineExceeded, true},
		{codes.OK, false}} {
		a.begin()(status.Error(test.code, ""))
		silent(test.want)
	}
	first := time.Now()
	a.begin()(status.Error(codes.Unavailable, ""))
	at := since()
	a.begin()(status.Error(codes.Unavailable, ""))
	if !since().Equal(at) || at.Before(first) {
		t.Errorf("it is silent since %v, then since %v", at, since())
	}
}

// hung is a helper whose process runs but whose calls never return, because its store is locked or
// its disk hangs.
type hung struct{ pb.UnimplementedHelperServer }

func (hung) hang(
	ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler,
) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// cutConn is a connection on which nothing passes while cut is locked.
type cutConn struct {
	net.Conn
	cut *sync.RWMutex
}

func (c cutConn) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	c.cut.RLock()
	defer c.cut.RUnlock()
	return n, err
}

func (c cutConn) Write(b []byte) (int, error) {
	c.cut.RLock()
	defer c.cut.RUnlock()
	return c.Conn.Write(b)
}

type cutListener struct {
	net.Listener
	cut sync.RWMutex
}

func (cl *cutListener) Accept() (net.Conn, error) {
	c, err := cl.Listener.Accept()
	return cutConn{c, &cl.cut}, err
}

// TestDeadlines: no call to a silent helper lasts longer than its deadline. A helper can be silent
// in three ways: it accepts connections and sends nothing, its line is cut or its process is
// stopped, or its process runs and its calls hang. In the last case, work on contributions may take
// its 2 minutes, and ends at once if the caller ends it. Each silence is noticed.
func TestDeadlines(t *testing.T) {
	calls := map[string]func(context.Context, *RemoteHelper) error{
		"Accept": func(ctx context.Context, r *RemoteHelper) error {
			_, err := r.Accept(ctx, Digest{}, Signed{})
			return err
		},
		"Bring": func(ctx context.Context, r *RemoteHelper) error {
			return r.SendPlan(ctx, Digest{}, nil, nil)
		},
		"End": func(ctx context.Context, r *RemoteHelper) error {
			return r.End(ctx, Digest{})
		},
		"Prepare": func(ctx context.Context, r *RemoteHelper) error {
			_, err := r.Prepare(ctx, Digest{}, nil)
			return err
		},
		"Recall": func(ctx context.Context, r *RemoteHelper) error {
			return r.Recall(ctx, Signed{})
		},
		"Reveal": func(ctx context.Context, r *RemoteHelper) error {
			_, err := r.Reveal(ctx, Digest{}, half{}, Signed{})
			return err
		},
		"Seal": func(ctx context.Context, r *RemoteHelper) error {
			_, err := r.Seal(ctx, Digest{}, Signed{})
			return err
		},
		"Share": func(ctx context.Context, r *RemoteHelper) error {
			_, err := r.Share(ctx, Digest{})
			return err
		},
	}
	bring := grpc.MethodDesc{MethodName: pb.Helper_ServiceDesc.Streams[0].StreamName}
	for _, m := range append(pb.Helper_ServiceDesc.Methods, bring) {
		if calls[m.MethodName] == nil {
			t.Errorf("call %s is not tried here", m.MethodName)
		}
	}
	for _, how := range []string{"says nothing", "cut", "hangs"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			own, helper := must(protocol.NewSigner()), must(protocol.NewSigner())
			l := &cutListener{Listener: must(net.Listen("tcp", "127.0.0.1:0"))}
			var s hung
			tls := must(PinnedTLS(helper, own.Key(), protocol.KeyPin{}))
			answers := func(
				_ context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler,
			) (any, error) {
				return &pb.HelperEnded{}, nil
			}
			if how == "hangs" {
				answers = s.hang
			}
			g := grpc.NewServer(grpc.Creds(credentials.NewTLS(tls)), grpc.UnaryInterceptor(answers),
				grpc.StreamInterceptor(func(
					_ any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler,
				) error {
					<-stream.Context().Done()
					return nil
				}),
				grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second}))
			pb.RegisterHelperServer(g, s)
			if how == "says nothing" {
				l.cut.Lock()
			}
			var serving sync.WaitGroup
			serving.Go(func() { _ = g.Serve(l) })
			r := must(Dial(l.Addr().String(), own, helper.Key()))
			if how == "cut" {
				must(0, r.End(t.Context(), Digest{}))
				l.cut.Lock()
			}
			defer func() { r.Close(); g.Stop(); serving.Wait() }()
			if how != "hangs" {
				defer l.cut.Unlock()
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := map[bool]chan string{}
			for _, works := range []bool{false, true} {
				ended[works] = make(chan string, len(calls))
			}
			works := func(name string) bool {
				return slices.Contains([]string{"Prepare", "Seal", "Share"}, name)
			}
			for name, call := range calls {
				go func() {
					err := call(ctx, r)
					if !errors.Is(err, protocol.ErrHelper) && ctx.Err() == nil {
						t.Errorf("%s: %v", name, err)
					}
					ended[works(name)] <- name
				}()
			}
			late := time.After(workTime / 2)
			for short := range len(calls) {
				work := short >= 5
				if work && how == "hangs" {
					stop()
				}
				select {
				case <-ended[work]:
				case <-late:
					t.Fatalf("%d calls have ended", short)
				}
				if since, busy := r.SilentSince(); short == 4 && (since.IsZero() || busy) {
					t.Error("its silence is not noticed")
				}
			}
		})
	}
}

// TestBusyHelperAnswers: while a helper works on one study, it immediately answers calls that
// change nothing: whether it is alive, whether it has a share, and what it accepted. A coordinator
// asks nothing more about a study that both released, whatever its other studies do.
func TestBusyHelperAnswers(t *testing.T) {
	task := taskOf(3, 2)
	w, h := newWorld(t, task), task.Hash()
	w.releases(task)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	for _, s := range w.servers {
		defer must(s.take(ctx, Digest{}))()
	}
	must(0, w.servers[0].Probe(ctx, w.servers[1]))
	must(0, w.servers[0].ConfirmAcceptance(ctx, h, w.servers[1]))
	if !must(w.servers[0].Advance(ctx, h, w.servers[1])) {
		t.Error("it is not released any more")
	}
	short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	if err := w.servers[1].End(short, h); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a study is ended beside the work: %v", err)
	}
}

// TestTurns: a study never waits for a call about another study, and waits for its own calls no
// longer than its caller does.
func TestTurns(t *testing.T) {
	s := &Server{turns: map[Digest]chan struct{}{}}
	release := must(s.take(t.Context(), Digest{1}))
	other := must(s.take(t.Context(), Digest{2}))
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.take(ended, Digest{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("taken twice: %v", err)
	}
	other()
	release()
	must(s.take(t.Context(), Digest{1}))()
}
