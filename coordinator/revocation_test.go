package coordinator

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
)

// TestRevokedWhileRenewing: a member is revoked while its renewals are under way. They do not make
// it a member again.
func TestRevokedWhileRenewing(t *testing.T) {
	w := newWorld(t, nil)
	c := w.enrol("hospital-a")
	ctx := context.Background()
	var (
		mu   sync.Mutex
		last protocol.Identity
		wg   sync.WaitGroup
	)
	for range 5 {
		wg.Go(func() {
			for {
				id, err := c.Renew(ctx)
				if err != nil {
					return
				}
				mu.Lock()
				last = id
				mu.Unlock()
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if err := w.operator.Revoke(ctx, "hospital-a"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if last.Certificate == "" {
		t.Fatal("nothing was renewed before the revocation: the test shows nothing")
	}
	again := w.dial(last)
	defer again.Close()
	if _, err := again.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("the last certificate after revocation: have %v, want ErrDenied", err)
	}
}

// TestRevokedInTheStore: a member is revoked after the gate let its call in and before the call's
// transaction. The transaction then writes nothing: the member cannot decline or renew, its carried
// answers are refused, and so are bytes that were asked for again.
func TestRevokedInTheStore(t *testing.T) {
	ctx := t.Context()
	revoke := func(w *world) (ctx context.Context, caller protocol.Caller) {
		caller = w.callerOf("p0")
		ctx = must(w.server.gate.AdmitCall(t.Context(), caller, pb.Enrolment_Renew_FullMethodName))
		must(0, w.server.store.Update(t.Context(), func(tx records.Tx) error {
			return tx.Revoke("p0")
		}))
		return ctx, caller
	}
	denied := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var stored atomic.Bool
	w := newWorld(t, func(c *folder.Config) {
		c.Checkpoint = func(effect string) {
			stored.Store(stored.Load() || effect == "receipt key stored")
		}
	})
	c := w.server.registry.byHash(w.small(3).Hash)
	of, caller := revoke(w)
	request := must(must(protocol.NewEnrolment()).Request())
	_, err := w.server.Renew(of, &pb.EnrolRequest{SigningRequest: request})
	denied("a new certificate", err)
	denied("it takes no part", w.server.decline(ctx, c, caller))
	if denied("an answer", w.server.accept(ctx, c, caller,
		protocol.OpenedAnswer{Body: ballotFor(0, 3),
			ReceiptKey: make([]byte, 32)})); stored.Load() {
		t.Error("an answer's key for the receipt was stored")
	}

	w, s, receipt := damagedWorld(t)
	_, caller = revoke(w)
	c = w.server.registry.byHash(s.Hash)
	c.mu.Lock()
	_, err = c.restoreLocked(ctx, caller, receipt, ballotFor(0, 3))
	c.mu.Unlock()
	denied("bytes that were lost", err)
}

// TestRevokedMidUpload: a member that is revoked between an upload's header and its last byte gets
// no receipt and is not counted.
func TestRevokedMidUpload(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	var first protocol.Identity
	for i, name := range names(3) {
		invitation, _, err := w.operator.Invite(ctx, admin.InviteOptions{Name: string(name)})
		if err != nil {
			t.Fatal(err)
		}
		id, err := protocol.Enrol(ctx, must(protocol.ParseInvitation(invitation)),
			must(protocol.NewEnrolment()), protocol.DialOptions{Now: w.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = id
		}
	}
	pool := poolOf(50)
	s := w.open(planOf(names(3), pool, w.clock.Now().Add(time.Hour)), pool)
	pair := must(tls.X509KeyPair([]byte(first.Certificate), []byte(first.Key)))
	connection := must(grpc.NewClient(w.server.Addr(),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true,
			Certificates: []tls.Certificate{pair}}))))
	defer connection.Close()
	upload, err := pb.NewStudiesClient(connection).Contribute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	body := ballotFor(0, 50)
	digest := sha256.Sum256(body)
	header := &pb.ContributionHeader{PlanHash: s.Hash[:], Size: uint64(len(body)),
		Sha256: digest[:]}
	if err := upload.Send(&pb.ContributeRequest{Part: &pb.ContributeRequest_Header{Header: header}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // time for the header to pass the gate
	if err := w.operator.Revoke(ctx, string(names(3)[0])); err != nil {
		t.Fatal(err)
	}
	for chunk := range protocol.Chunks(body, 0) {
		if err := upload.Send(&pb.ContributeRequest{Part: &pb.ContributeRequest_Chunk{Chunk: chunk}}); err != nil {
			break // the upload is refused already, which is fine
		}
	}
	if _, err := upload.CloseAndRecv(); err == nil {
		t.Error("a revoked party got a receipt")
	}
	if got := must(w.operator.Study(ctx, s.Hash.String())); len(got.ContributedBy) != 0 {
		t.Errorf("contributed by %v, want nobody", got.ContributedBy)
	}
}
