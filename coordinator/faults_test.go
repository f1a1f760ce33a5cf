package coordinator

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
	"caucus/study"
)

// raw is a connection for calls that a admin.Client never makes.
func (w *world) raw(id protocol.Identity) *grpc.ClientConn {
	w.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(id.CA))
	config := &tls.Config{
		RootCAs: roots, ServerName: "coordinator.caucus.internal", MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{must(tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key)))},
	}
	c := must(grpc.NewClient(w.server.Addr(),
		grpc.WithTransportCredentials(credentials.NewTLS(config))))
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) identity(name string) protocol.Identity {
	text, _, err := w.operator.Invite(context.Background(), admin.InviteOptions{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return must(protocol.Enrol(context.Background(), must(protocol.ParseInvitation(text)),
		must(protocol.NewEnrolment()), protocol.DialOptions{Now: w.clock.Now}))
}

// small opens a study of n parties with a pool of n rows.
func (w *world) small(n int) protocol.Study {
	roster := names(n)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(n)
	return w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
}

// TestTornUploads: an upload that is cut off, changed on its way, or different from its header is
// not stored. The party can still contribute.
func TestTornUploads(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	id := w.identity("p0") // small enrols p0 once more, which is harmless
	s := w.small(2)
	studies := pb.NewStudiesClient(w.raw(id))
	body := ballotFor(0, 2)
	digest := sha256.Sum256(body)
	header := func(size int, digest []byte) *pb.ContributeRequest {
		return &pb.ContributeRequest{Part: &pb.ContributeRequest_Header{Header: &pb.ContributionHeader{PlanHash: s.Hash[:], Size: uint64(size), Sha256: digest}}}
	}
	chunk := func(change func(*pb.Chunk)) *pb.ContributeRequest {
		for c := range protocol.Chunks(body, 0) {
			if change != nil {
				change(c)
			}
			return &pb.ContributeRequest{Part: &pb.ContributeRequest_Chunk{Chunk: c}}
		}
		return nil
	}
	other := sha256.Sum256([]byte("other"))
	for what, c := range map[string]struct {
		send []*pb.ContributeRequest
		want error
	}{
		"nothing":       {nil, protocol.ErrDamaged},
		"no header":     {[]*pb.ContributeRequest{chunk(nil)}, protocol.ErrInvalid},
		"empty message": {[]*pb.ContributeRequest{{}}, protocol.ErrInvalid},
		"no body":       {[]*pb.ContributeRequest{header(len(body), digest[:])}, protocol.ErrDamaged},
		"truncated":     {[]*pb.ContributeRequest{header(len(body)+5, digest[:]), chunk(nil)}, protocol.ErrDamaged},
		"too long":      {[]*pb.ContributeRequest{header(len(body), digest[:]), chunk(nil), chunk(func(c *pb.Chunk) { c.Offset = uint64(len(body)) })}, protocol.ErrTooLarge},
		"gap":           {[]*pb.ContributeRequest{header(len(body)+5, digest[:]), chunk(func(c *pb.Chunk) { c.Offset = 5 })}, protocol.ErrDamaged},
		"flipped":       {[]*pb.ContributeRequest{header(len(body), digest[:]), chunk(func(c *pb.Chunk) { c.Crc32C++ })}, protocol.ErrDamaged},
		"other digest":  {[]*pb.ContributeRequest{header(len(body), other[:]), chunk(nil)}, protocol.ErrDamaged},
		"two headers":   {[]*pb.ContributeRequest{header(len(body), digest[:]), header(len(body), digest[:])}, protocol.ErrDamaged},
		"huge":          {[]*pb.ContributeRequest{header(1<<40, digest[:])}, protocol.ErrTooLarge},
	} {
		stream := must(studies.Contribute(ctx))
		for _, m := range c.send {
			if stream.Send(m) != nil {
				break
			}
		}
		if _, err := stream.CloseAndRecv(); !errors.Is(protocol.FromStatus(err), c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	// The caller goes away in the middle of an upload.
	gone, cancel := context.WithCancel(ctx)
	stream := must(studies.Contribute(gone))
	must(0, stream.Send(header(len(body), digest[:])))
	cancel()
	for until := time.Now().Add(5 * time.Second); ; {
		_, err := w.parties["p0"].Contribute(ctx, s.Hash, body)
		if err == nil {
			break
		}
		// the interrupted upload may still hold its place
		if !errors.Is(err, protocol.ErrBusy) || time.Now().After(until) {
			t.Fatalf("after torn uploads: %v", err)
		}
	}
	if s := must(w.operator.Study(ctx, "trial")); s.Contributed != 1 {
		t.Errorf("%d contributions", s.Contributed)
	}
}

// TestLimits: a member that calls too often is told to come back later. Other members are not.
func TestLimits(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) {
		c.Limits.Rate, c.Limits.Burst, c.Limits.Calls = 0.001, 8, 2
	})
	c := w.enrol("busy")
	var err error
	for range 9 {
		if _, err = c.Studies(ctx); err != nil {
			break
		}
	}
	if !errors.Is(err, protocol.ErrBusy) || !protocol.IsRetryable(err) {
		t.Errorf("ninth call: %v", err)
	}
	id := w.identity("many")
	studies := pb.NewStudiesClient(w.raw(id))
	for i := range 3 {
		stream := must(studies.Contribute(ctx))
		if i < 2 {
			for w.server.calls("party/many") < i+1 { // wait until the call is admitted
				time.Sleep(time.Millisecond)
			}
			continue
		}
		if _, err := stream.CloseAndRecv(); !errors.Is(protocol.FromStatus(err), protocol.ErrBusy) {
			t.Errorf("third open call: %v", err)
		}
	}
}

// calls is the number of a member's open calls.
func (s *Server) calls(member string) int {
	return s.gate.Traffic().Calls[member]
}

// TestMachineTrouble: a full disk, or a coordinator that is away, loses no contribution and counts
// none twice.
func TestMachineTrouble(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(3)
	p0, p1, p2 := w.parties["p0"], w.parties["p1"], w.parties["p2"]
	db := w.server.store.(*records.SQL).DB.Write
	var pages int
	must(0, db.QueryRow("PRAGMA page_count").Scan(&pages))
	must(db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)))
	// Fill the free space with invitations, then contribute.
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		_, _, err = inviteName(w, fmt.Sprint("filler", i))
	}
	if !errors.Is(err, protocol.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("invite on a full disk: %v", err)
	}
	if _, err = p0.Contribute(ctx, s.Hash, ballotFor(0, 3)); err != nil &&
		!errors.Is(err, protocol.ErrUnavailable) {
		t.Errorf("contribute on a full disk: %v", err)
	}
	must(db.Exec("PRAGMA max_page_count = 1000000"))
	receipt := must(p0.Contribute(ctx, s.Hash, ballotFor(0, 3)))
	if s := must(w.operator.Study(ctx, "trial")); s.Contributed != 1 {
		t.Errorf("%d contributions", s.Contributed)
	}

	if _, err := New(w.config); err == nil ||
		!strings.Contains(err.Error(), "another coordinator runs on it") {
		t.Errorf("a second coordinator on the folder: %v", err)
	}
	w.stop()
	if _, err := p1.Contribute(ctx, s.Hash, ballotFor(1, 3)); !errors.Is(err,
		protocol.ErrUnavailable) || !protocol.IsRetryable(err) {
		t.Errorf("coordinator is away: %v", err)
	}
	w.start()
	for _, c := range []*admin.Client{p1, p2} {
		for {
			_, err := c.Contribute(ctx, s.Hash,
				ballotFor(map[*admin.Client]int{p1: 1, p2: 2}[c], 3))
			if err == nil {
				break
			}
			if !protocol.IsRetryable(err) {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if again := must(p0.Contribute(ctx, s.Hash,
		ballotFor(0, 3))); string(again.Document) != string(receipt.Document) {
		t.Error("another receipt after the restart")
	}
	w.wait("trial", study.Released)
	release := must(w.operator.Release(ctx, "trial")).Release
	w.stop()
	agree(t, w.config.Dir, s.Plan, poolOf(3),
		[][]byte{ballotFor(0, 3), ballotFor(1, 3), ballotFor(2, 3)}, release)
}

func TestPortInUse(t *testing.T) {
	w, other := newWorld(t, nil), newWorld(t, nil)
	other.stop()
	other.config.Listen = w.server.Addr()
	if _, err := New(other.config); !errors.Is(err, syscall.EADDRINUSE) ||
		!strings.Contains(err.Error(), "another program listens there") {
		t.Errorf("port in use: %v", err)
	}
	if err := folder.Init(folder.InitOptions{Dir: w.config.Dir}); err == nil ||
		!strings.Contains(err.Error(), "there is a coordinator already") {
		t.Errorf("init again: %v", err)
	}
}

// TestBudget: the coordinator refuses to open a study that its ledger cannot release. If the budget
// runs out later, the study fails, and everybody can read why.
func TestBudget(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) {
		c.Budget = map[privacy.Unit]privacy.Budget{privacy.Party: {Epsilon: 10, Delta: 1e-5}}
	})
	first := w.small(2) // ε = 8
	again := first.Plan
	again.Name = "again"
	must(w.operator.CreateStudy(ctx, must(again.Canonical()), nil))
	must(w.operator.Open(ctx, "again"))
	for _, ref := range []study.Hash{first.Hash, study.HashOf(must(again.Canonical()))} {
		for i, p := range first.Plan.Roster {
			must(w.parties[string(p)].Contribute(ctx, ref, ballotFor(i, 2)))
		}
		w.wait(ref.String(), study.Released, study.Failed)
	}
	if s := w.wait("again", study.Failed); !strings.Contains(s.Reason, "budget") {
		t.Errorf("reason %q", s.Reason)
	}
	w.wait("trial", study.Released)
	again.Name = "third"
	if _, err := w.operator.CreateStudy(ctx, must(again.Canonical()), nil); !errors.Is(err,
		study.ErrPlan) || !strings.Contains(err.Error(), "too little left") {
		t.Errorf("third study: %v", err)
	}
}

// TestNothingInTheLog: values planted in valid and invalid bodies appear in no log and no metric.
func TestNothingInTheLog(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) {
		c.Metrics = "127.0.0.1:0"
		c.Health = true
		c.Reflection = true
	})
	roster, pool := names(2), poolOf(400)
	for _, p := range roster {
		w.enrol(string(p))
	}
	s := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	const planted = "PLANTED-7F3A9"
	if _, err := w.parties["p0"].Contribute(ctx, s.Hash, []byte(planted)); !errors.Is(err,
		study.ErrContribution) {
		t.Errorf("planted body: %v", err)
	}
	bad := append(ballotFor(0, 400), 0xff)
	if _, err := w.parties["p0"].Contribute(ctx, s.Hash, bad); !errors.Is(err,
		study.ErrContribution) {
		t.Errorf("bad body: %v", err)
	}
	bodies := [][]byte{ballotFor(0, 400), ballotFor(1, 400)}
	for i := range bodies[0][2:40] {
		bodies[0][i+2] = byte(i * 37)
	}
	for i, p := range s.Plan.Roster {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, bodies[i]))
	}
	w.wait("trial", study.Released)
	defer http.DefaultClient.CloseIdleConnections()
	var metrics string
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		reply := must(http.Get("http://" + w.server.watcher.MetricsAt().String() + "/metrics"))
		metrics = string(must(io.ReadAll(reply.Body)))
		reply.Body.Close()
		// The metric follows shortly after the release.
		if strings.Contains(metrics, "caucus_releases_total 1\n") || time.Now().After(until) {
			break
		}
	}
	for _, want := range []string{"caucus_contributions_total 2\n", "caucus_releases_total 1\n", `caucus_calls_total{code="OK",method="Contribute"} 2`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics do not say %q:\n%s", want, metrics)
		}
	}
	for _, text := range []string{w.log.String(), metrics} {
		for _, secret := range []string{planted, fmt.Sprintf("%x", planted),
			fmt.Sprintf("%x", bodies[0]), fmt.Sprintf("%v", bodies[0]), fmt.Sprintf("%x",
				bad[2:])} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in:\n%s", secret, text)
			}
		}
	}
	for _, want := range []string{`"study":"` + s.Hash.String(), `"party":"p1"`, `"reason":"CONTRIBUTION"`} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log does not say %s", want)
		}
	}
	h := must(grpc_health_v1.NewHealthClient(w.raw(w.identity("prober"))).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{}))
	if h.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health is %v", h.Status)
	}
	if _, err := grpc_health_v1.NewHealthClient(newWorld(t,
		nil).raw(w.identity("other"))).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{}); err == nil {
		t.Error("health is on by default, or for strangers")
	}
}

// TestGracefulStop: at a stop, open calls end and Run returns within the grace period.
func TestGracefulStop(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.StopGrace = 100 * time.Millisecond })
	id := w.identity("slow")
	stream := must(pb.NewStudiesClient(w.raw(id)).Contribute(ctx)) // never ends by itself
	for w.server.calls("party/slow") == 0 {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	w.stop()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
	if _, err := stream.CloseAndRecv(); err == nil {
		t.Error("the open call got an answer")
	}
}
