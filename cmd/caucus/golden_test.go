package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/agent"
	"caucus/agent/site"
	"caucus/aggregator/helper"
	"caucus/analyst/terms"
	"caucus/coordinator"
	"caucus/coordinator/folder"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
	"caucus/study/verify"
)

// goldenDay is the day on which the golden folders were made; their certificates are from that day.
var goldenDay = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// TestGolden: this version opens the folders of earlier versions (made by .ci/golden). The
// coordinator lists its studies, runs a new one, hands out the old release unchanged, and says
// which version can check it. All ledgers hold, the helper's too. An agent lists its studies.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/golden/*.tar.gz")
	if err != nil || len(archives) < 2 {
		t.Fatalf("golden folders: %v, %v", archives, err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, archive, dir)
			goldenCoordinator(t, dir)
			goldenAgent(t, filepath.Join(dir, "hospital-a"))
			if _, err := os.Stat(filepath.Join(dir, "helper")); err == nil {
				goldenHelper(t, filepath.Join(dir, "helper"))
			}
		})
	}
}

func goldenCoordinator(t *testing.T, dir string) {
	n := &network{t: t, dir: dir, log: &lines{}}
	at := filepath.Join(dir, "coordinator")
	name := filepath.Join(at, folder.ConfigFile)
	config, err := folder.LoadConfig(name)
	if err != nil && strings.Contains(err.Error(), "budget: none") { // required since then
		text, unread := os.ReadFile(name)
		n.check(unread)
		n.check(os.WriteFile(name, append(text, "\nbudget: none\n"...), 0o600))
		config, err = folder.LoadConfig(name)
	}
	n.check(err)
	config.Listen, config.Page, config.Metrics, config.Log = "127.0.0.1:0", "", "",
		slog.New(slog.NewTextHandler(n.log, nil))
	config.Clock.Now = func() time.Time { return goldenDay }
	server, err := coordinator.New(config)
	n.check(err)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	n.ctx = ctx
	done := make(chan error, 1)
	running, end := context.WithCancel(ctx)
	go func() { done <- server.Run(running) }()
	profile, err := protocol.LoadIdentity(filepath.Join(at, folder.OperatorFile))
	n.check(err)
	n.operator, err = admin.Dial(profile,
		protocol.DialOptions{Coordinator: server.Addr(), Now: config.Clock.Now})
	n.check(err)

	listing, err := n.operator.Studies(ctx)
	n.check(err)
	states := map[string]study.State{}
	for _, s := range listing.Studies {
		states[s.Name] = s.State
	}
	if len(states) != 2 || states["released"] != study.Released || states["open"] != study.Open {
		t.Errorf("it lists %v", states)
	}
	r, err := n.operator.Release(ctx, "released")
	if !errors.Is(err, study.ErrForm) || len(r.Document) == 0 || r.Check(r.Signer) != nil {
		t.Errorf("the old release: %v", err)
	}
	if all := verify.CheckClaims(r.Release, nil); len(all) != 1 ||
		!strings.Contains(all[0].Text, "use the version that made it") {
		t.Errorf("verify says of the old release: %v", all)
	}

	s := terms.Study{Schema: filepath.Join(dir, "schema.yaml"),
		Pool: filepath.Join(dir, "pool.csv")}
	s.Proposal = study.Proposal{
		Name: "another", Map: dataset.Components{Project: 2}, Roster: []study.PartyID{"hospital-a", "hospital-b"}, Minimum: 2,
		Deadline: goldenDay.Add(time.Hour), Records: 400, Epsilon: 1,
	}
	made, err := propose(quiet(), s)
	n.check(err)
	n.start(made)
	n.check(n.operator.Close())
	end()
	n.check(<-done)

	e, err := folder.ReadEvidence(ctx, at)
	n.check(err)
	holds(t, filepath.Join(at, folder.LedgerFile))
	if e.Last < 0 {
		t.Error("the store forgot the ledger's head")
	}
}

func goldenAgent(t *testing.T, dir string) {
	config, err := site.LoadConfig(filepath.Join(dir, "agent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config.Clock.Now = func() time.Time { return goldenDay }
	a, err := agent.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	all, _, err := a.Studies(ctx)
	names := map[string]bool{}
	for _, r := range all {
		names[r.Study] = true
	}
	if err != nil || len(all) != 2 || !names["released"] || !names["open"] {
		t.Errorf("it lists %v, %v", names, err)
	}
	holds(t, site.LedgerFile(config))
}

func goldenHelper(t *testing.T, dir string) {
	config, err := helper.LoadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	config.Listen, config.Metrics = "127.0.0.1:0", ""
	server, err := helper.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	holds(t, filepath.Join(dir, helper.LedgerFile))
}

// holds verifies a ledger's chain.
func holds(t *testing.T, path string) {
	t.Helper()
	j, err := journal.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := privacy.Verify(context.Background(), j); err != nil {
		t.Error(err)
	}
}

// unpack unpacks an archive of small files.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(archive)
	check(err)
	defer file.Close()
	plain, err := gzip.NewReader(file)
	check(err)
	for all := tar.NewReader(plain); ; {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		check(err)
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			check(os.MkdirAll(path, 0o700))
			continue
		}
		b, err := io.ReadAll(all)
		check(err)
		check(os.WriteFile(path, b, os.FileMode(h.Mode)))
	}
}
