package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
)

// TestDamagedPages: a coordinator that finds a damaged page in its store no longer reports that it
// is healthy.
func TestDamagedPages(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.Health = true })
	health := grpc_health_v1.NewHealthClient(w.raw(w.identity("prober")))
	status := func() grpc_health_v1.HealthCheckResponse_ServingStatus {
		return must(health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})).Status
	}
	pool := poolOf(200_000)
	w.enrol("p0")
	w.enrol("p1")
	s := w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	must(0, w.server.store.Scrub(ctx)) // moves the data from the log into the file
	if got := status(); got != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("before: %v", got)
	}
	f := must(os.OpenFile(w.config.Path(folder.StoreFile), os.O_RDWR, 0))
	defer f.Close()
	half := must(f.Stat()).Size() / 2 &^ 4095
	must(f.WriteAt(make([]byte, 64<<10), half))
	// Damage pages that are not in memory.
	db := w.server.store.(*records.SQL).DB.Read
	db.SetMaxIdleConns(0)
	db.SetMaxIdleConns(records.File.Readers)
	if _, err := w.parties["p0"].Pool(ctx, s, ""); err == nil {
		t.Fatal("the damaged pool was read")
	}
	if got := status(); got != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("afterwards: %v\n%s", got, w.log)
	}
	if n := strings.Count(w.log.String(), "is damaged: stop it"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// TestOpenFiles: a coordinator does not start if others may open its files.
func TestOpenFiles(t *testing.T) {
	w := newWorld(t, nil)
	w.stop()
	for _, file := range []string{folder.StoreFile, folder.LedgerFile, folder.CAKeyFile,
		folder.SignerFile} {
		must(0, os.Chmod(w.config.Path(file), 0o644))
		w.refusesToStart(file, "chmod 600")
		must(0, os.Chmod(w.config.Path(file), 0o600))
	}
	w.start()
}

// TestNamesakes: two names that differ in case only are not two members. No invitation has an
// address that nobody can dial.
func TestNamesakes(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	w.enrol("p0")
	if _, _, err := inviteName(w, "P0"); !errors.Is(err, protocol.ErrExists) ||
		!strings.Contains(err.Error(), "in case only") {
		t.Errorf("P0 beside p0: %v", err)
	}
	if _, err := folder.NewOperator(ctx, w.config.Dir, "P0", time.Now()); !errors.Is(err,
		protocol.ErrExists) {
		t.Errorf("an operator P0 beside the party p0: %v", err)
	}
	if _, _, err := inviteName(w, "p0"); err != nil {
		t.Errorf("p0 again: %v", err)
	}
	for _, address := range []string{"nowhere", "host:", ":7443", "0.0.0.0:7443", "[::]:7443",
		"host:0", "host:65536", "a b:1", "\"x\":1", "224.0.0.1:1", "-x:1"} {
		if _, _, err := w.operator.Invite(ctx,
			admin.InviteOptions{Name: "site", Address: address}); !errors.Is(err,
			protocol.ErrInvalid) {
			t.Errorf("address %q: %v", address, err)
		}
		if err := folder.Init(folder.InitOptions{Dir: filepath.Join(t.TempDir(), "c"),
			Address: address}); err == nil || !strings.Contains(err.Error(), "HOST:PORT") {
			t.Errorf("init with address %q: %v", address, err)
		}
	}
	for _, address := range []string{"caucus.example.org:7443", "127.0.0.1:1", "[::1]:7443",
		"a_b:7"} {
		if _, _, err := w.operator.Invite(ctx,
			admin.InviteOptions{Name: "site", Address: address}); err != nil {
			t.Errorf("address %q: %v", address, err)
		}
	}
}
