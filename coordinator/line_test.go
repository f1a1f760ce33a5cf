package coordinator

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"caucus/study"
)

// relay is a connection to the helper. While it is held, connections stay open, and nothing passes.
type relay struct {
	net.Listener
	held sync.RWMutex // while locked, nothing passes
	// fault, if not nil, is asked before a piece passes: the n-th piece of the c-th connection, in
	// the direction from the helper or to it. It returns false to end the connection there.
	fault func(c, n int, answer bool) bool
}

func newRelay(t *testing.T, to string) *relay {
	r := &relay{Listener: must(net.Listen("tcp", "127.0.0.1:0"))}
	var under sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	pass := func(from, to net.Conn, c int, answer bool) {
		defer under.Done()
		defer to.Close()
		buffer := make([]byte, 1<<16)
		for piece := 0; ; piece++ {
			n, err := from.Read(buffer)
			r.held.RLock()
			if err == nil && r.fault != nil && !r.fault(c, piece, answer) {
				err = net.ErrClosed
			}
			if err == nil {
				_, err = to.Write(buffer[:n])
			}
			if r.held.RUnlock(); err != nil {
				return
			}
		}
	}
	under.Go(func() {
		for c := 0; ; c++ {
			from, err := r.Accept()
			if err != nil {
				return
			}
			if on, err := net.Dial("tcp", to); err == nil {
				context.AfterFunc(ctx, func() { from.Close(); on.Close() })
				under.Add(2)
				go pass(from, on, c, false)
				go pass(on, from, c, true)
			} else {
				from.Close()
			}
		}
	})
	t.Cleanup(func() { r.Close(); stop(); under.Wait() })
	return r
}

// newRelayed is a world whose coordinator reaches the helper through a relay.
func newRelayed(
	t *testing.T, parties int, change func(*study.Plan), fault func(c, n int, answer bool) bool,
) (*sharedWorld, *relay) {
	w := newSharedWorld(t, parties, change)
	w.stop()
	line := newRelay(t, w.helper.Listen)
	line.fault = fault
	w.config.Helper.Address = line.Addr().String()
	w.start()
	return w, line
}

// TestLine: a study with two servers succeeds over a line that fails. Each server is charged once,
// and no place stays taken. If connections end, each lasts one piece longer than the one before, so
// that questions and answers are lost at many steps.
func TestLine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var cut atomic.Int64
	for name, fault := range map[string]func(c, n int, answer bool) bool{
		"answers are lost":   func(c, n int, answer bool) bool { return !answer || n < c },
		"questions are lost": func(c, n int, answer bool) bool { return answer || n < c },
		"a slow line": func(int, int, bool) bool {
			time.Sleep(30 * time.Millisecond)
			return true
		},
		"cut now and then": func(int, int, bool) bool { return cut.Add(1)%17 != 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := newRelayed(t, 3, func(p *study.Plan) {
				p.Deadline = p.Deadline.Add(5000 * time.Hour)
			}, fault)
			must(0, w.operator.UploadPool(ctx, w.plan.Pool, w.pool))
			must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
			repeat := func(call func() error) {
				t.Helper()
				for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
					err := call()
					if err == nil {
						return
					}
					if time.Since(begun) > 2*time.Minute {
						t.Fatal(err)
					}
				}
			}
			repeat(func() error { _, err := w.operator.Open(ctx, "trial"); return err })
			s := must(w.operator.Study(ctx, "trial"))
			var all [][]byte
			repeat(func() (err error) {
				s, err = w.parties["p0"].Study(ctx, "trial")
				if err == nil && s.Helper.Document == nil {
					err = context.DeadlineExceeded // the helper does not answer at this moment
				}
				return err
			})
			all = w.uploads(s)
			for i, p := range w.plan.Roster {
				repeat(func() error {
					_, err := w.parties[string(p)].Contribute(ctx, s.Hash, all[i])
					return err
				})
			}
			for begun := time.Now(); w.state().State != study.Released; {
				time.Sleep(50 * time.Millisecond)
				if time.Since(begun) > 2*time.Minute || w.state().State == study.Failed {
					t.Fatalf("%+v", w.state())
				}
				w.clock.add(lastWait)
			}
			w.verified()
			if n := w.places(); n != 0 {
				t.Errorf("it takes %d places", n)
			}
			w.stop()
			w.stopHelper()
			if n, m := ledgerOf(w.config.Dir), ledgerOf(w.helper.Dir); n != 1 || m != 1 {
				t.Errorf("the coordinator's ledger has %d charges, the helper's %d", n, m)
			}
		})
	}
}
