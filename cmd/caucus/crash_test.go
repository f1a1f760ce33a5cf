package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"caucus/aggregator/helper"
	"caucus/cmd/internal/siteverbs"
	"caucus/coordinator/folder"
	"caucus/internal/testlevel"
	"caucus/protocol"
	"caucus/study"
)

// caucus prepares a command line of this project, run by the test binary.
func caucus(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Args[0], cmd.Dir = "caucus", dir
	cmd.Env = append(os.Environ(), "CAUCUS_PROFILE=coordinator/operator.yaml",
		"CAUCUS_TEST_KILL_AT=")
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// keep runs a daemon again and again. Its n-th life is killed with SIGKILL at its n-th effect; in a
// short run, two effects later than the life before. It returns the number of killed lives and the
// whole log.
func keep(ctx context.Context, dir string, args ...string) (lives int, log string, err error) {
	step := 2
	if testlevel.Long() {
		step = 1
	}
	var said bytes.Buffer
	for {
		cmd := caucus(ctx, dir, args...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("CAUCUS_TEST_KILL_AT=%d", 1+lives*step))
		cmd.Stderr = &said
		err := cmd.Run()
		if ctx.Err() != nil {
			return lives, said.String(), nil
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			return lives, said.String(), fmt.Errorf("%v ended: %v\n%s", args, err, said.String())
		}
		lives++
	}
}

// TestKilledEverywhere: coordinator and agents are killed again and again, all at the same time.
// Still there is one release of all contributions, each charged once and counted once.
func TestKilledEverywhere(t *testing.T) { killedEverywhere(t, study.NoiseCoordinator) }

// TestKilledWithHelper is the same for two servers: the helper is also killed, at its own effects,
// and each server's ledger has one charge.
func TestKilledWithHelper(t *testing.T) { killedEverywhere(t, study.NoiseAggregators) }

func killedEverywhere(t *testing.T, noise study.Noise) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := hospitals(dir); err != nil {
		t.Fatal(err)
	}
	port, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must := patiently(ctx, t, dir)
	must("coordinator", "init", "--dir", "coordinator", "--address", "127.0.0.1:"+port, "--listen",
		"127.0.0.1:"+port)

	var wg sync.WaitGroup
	type end struct {
		name, log string
		lives     int
		err       error
	}
	ends := make(chan end, 6)
	running, stop := context.WithCancel(ctx)
	start := func(name string, args ...string) {
		wg.Go(func() {
			lives, log, err := keep(running, dir, args...)
			ends <- end{name, log, lives, err}
		})
	}
	servers, pins := []string{"coordinator"}, ""
	if noise == study.NoiseAggregators {
		port, err := testlevel.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		var named folder.HelperReport
		if err := json.Unmarshal(must("helper", "keys", "--dir", "coordinator", "--json"),
			&named); err != nil {
			t.Fatal(err)
		}
		var made helper.Pins
		if err := json.Unmarshal(must("helper", "init", "--dir", "helper", "--listen",
			"127.0.0.1:"+port, "--coordinator", named.Key.String(), "--json"), &made); err != nil {
			t.Fatal(err)
		}
		must("helper", "keys", "--dir", "coordinator", "--address", "127.0.0.1:"+port, "--key",
			made.Signing.String())
		servers, pins = append(servers, "helper"), fmt.Sprintf("  helper: {name: trust, signing: %s, sealing: %s}\n", made.Signing, made.Sealing)
		start("helper", "helper", "run", "--dir", "helper")
	}
	start("coordinator", "coordinator", "run", "--dir", "coordinator")

	sites := []string{"hospital-a", "hospital-b", "hospital-c", "hospital-d"}
	for _, name := range sites {
		config := fmt.Sprintf(crashAgent, name, name, noise) + pins
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(config),
			0o600); err != nil {
			t.Fatal(err)
		}
		invitation := must("party", "invite", name)
		if err := os.WriteFile(filepath.Join(dir, name+".invitation"), invitation,
			0o600); err != nil {
			t.Fatal(err)
		}
		must("agent", "enrol", "--config", name+".yaml", "--invitation", name+".invitation")
		must("agent", "source", "declare", "ward", "--yes", "--config", name+".yaml")
	}
	must("study", "create", "--name", "ward", "--schema", "schema.yaml", "--pool", "pool.csv",
		"--set", "project=5",
		"--noise", string(noise), "--mechanism", "tally", "--records", "70", "--force",
		"--closes-in", "10m", "--minimum", "4")
	for _, name := range sites {
		start(name, "agent", "run", "--config", name+".yaml")
	}
	must("study", "open", "ward")
	must("study", "wait", "ward")
	signed, err := protocol.ReadRelease(must("study", "result", "ward", "--json"))
	if err != nil {
		t.Fatal(err)
	}
	release := signed.Release
	for _, name := range sites { // each site gets the release too
		for {
			found, err := filepath.Glob(filepath.Join(dir, "state-"+name, "studies", "*",
				"release.json"))
			if err != nil || ctx.Err() != nil {
				t.Fatal(name, err, ctx.Err())
			}
			if len(found) == 1 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	stop()
	wg.Wait()
	close(ends)
	for e := range ends {
		if e.err != nil {
			t.Errorf("%s: %v", e.name, e.err)
		}
		if e.lives < 2 {
			t.Errorf("%s was killed %d times only", e.name, e.lives)
		}
		if strings.Contains(e.log, planted) {
			t.Errorf("%s logged a record", e.name)
		}
		t.Logf("%s was killed %d times", e.name, e.lives)
	}
	if release.Parties != 4 || len(release.Missing) != 0 || len(release.Contributed) != 4 {
		t.Errorf("the release says %d parties, contributed %v, missing %v", release.Parties, release.Contributed, release.Missing)
	}
	if n := len(release.Costs); n != 1 {
		t.Errorf("%d costs in the release, want 1", n)
	}
	for _, ledger := range append(servers, prefixed("state-", sites)...) {
		var doc siteverbs.LedgerDocument
		if err := json.Unmarshal(must("ledger", "show", "--dir", ledger, "--json"),
			&doc); err != nil {
			t.Fatal(err)
		}
		for _, u := range doc.Units {
			if want := map[string]int64{"label": 1, "record": 1,
				"party": 0}[u.Unit.String()]; u.Charges != want {
				t.Errorf("%s: %d charges at unit %s, want %d", ledger, u.Charges, u.Unit, want)
			}
		}
	}
}

func prefixed(prefix string, names []string) (out []string) {
	for _, n := range names {
		out = append(out, prefix+n)
	}
	return out
}

const crashAgent = `
state: state-%s
poll: 50ms
max_backoff: 100ms
least_window: 500ms
data: {ward: {file: %s.csv, schema: schema.yaml}}
policy:
  kinds: [classify]
  mechanisms: [tally]
  noise: [%s]
  study: {record: {epsilon: 1, delta: 1e-6}}
  total: {record: {epsilon: 5, delta: 1e-5}}
  approval: policy
`

// patiently runs command lines in a folder, and repeats one while the coordinator is unavailable.
// Any other failure ends the test.
func patiently(ctx context.Context, t *testing.T, dir string) func(args ...string) []byte {
	return func(args ...string) []byte {
		t.Helper()
		for {
			cmd := caucus(ctx, dir, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err == nil {
				return out
			}
			if !strings.Contains(stderr.String(), "not available") {
				t.Fatalf("%v: %v\n%s", args, err, stderr.String())
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}
