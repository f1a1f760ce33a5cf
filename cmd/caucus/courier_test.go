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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"caucus/cmd/internal/siteverbs"
	"caucus/internal/testlevel"
)

// field keeps a text of the last command's JSON in a variable, as if one person read a fingerprint
// to another.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field key variable")
	}
	var document map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &document))
	text, ok := document[args[0]].(string)
	if !ok || text == "" {
		ts.Fatalf("there is no text %s", args[0])
	}
	ts.Setenv(args[1], text)
}

// swapSealed makes a file with the content of one answer and the signature of another: swap FROM
// SIGNED TO.
func swapSealed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: swap from signed to")
	}
	const part = "\nsealed "
	from, signed := []byte(ts.ReadFile(args[0])), []byte(ts.ReadFile(args[1]))
	made := append(signed[:bytes.Index(signed, []byte(part)):bytes.Index(signed, []byte(part))],
		from[bytes.Index(from, []byte(part)):]...)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), made, 0o600))
}

// cutFile writes all but the last 10 bytes of a file.
func cutFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut from to")
	}
	b := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b[:len(b)-10]), 0o600))
}

const carriedAgent = `
state: state-%s
poll: 50ms
max_backoff: 100ms
least_window: 500ms
data: {ward: {file: %s.csv, schema: schema.yaml}}
policy:
  kinds: [classify]
  mechanisms: [cross]
  noise: [site]
  study: {record: {epsilon: 1, delta: 1e-6}}
  total: {record: {epsilon: 5, delta: 1e-5}}
  approval: policy
`

var carriedParties = []string{"hospital-a", "hospital-b", "hospital-c", "hospital-d"}

// carriedWorld is a folder with a stopped coordinator, four enrolled hospitals, an open study with
// noise at the sites, and its pack.
func carriedWorld(ctx context.Context, t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := hospitals(dir); err != nil {
		t.Fatal(err)
	}
	port, err := testlevel.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	must := patiently(ctx, t, dir)
	must("coordinator", "init", "--dir", "coordinator", "--address", "127.0.0.1:"+port, "--listen",
		"127.0.0.1:"+port)
	stop := background(ctx, t, dir, "coordinator", "run", "--dir", "coordinator")
	for _, name := range carriedParties {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"),
			fmt.Appendf(nil, carriedAgent, name, name), 0o600); err != nil {
			t.Fatal(err)
		}
		var asks, gets map[string]string
		unmarshal(t, must("agent", "enrol", "--config", name+".yaml", "--request", name+".request",
			"--json"), &asks)
		unmarshal(t, must("party", "invite", name, "--request", name+".request", "--key",
			asks["key"], "--out", name+".enrolment", "--json"), &gets)
		must("agent", "enrol", "--config", name+".yaml", "--accept", name+".enrolment",
			"--coordinator", gets["coordinator"])
		must("agent", "source", "declare", "ward", "--yes", "--config", name+".yaml")
	}
	must("study", "create", "--name", "ward", "--schema", "schema.yaml", "--pool", "pool.csv",
		"--set", "project=5",
		"--noise", "site", "--mechanism", "cross", "--records", "70", "--force", "--closes-in",
		"24h", "--minimum", "4")
	must("study", "open", "ward")
	must("study", "pack", "ward", "--out", "ward.pack")
	stop()
	return dir
}

func unmarshal(t *testing.T, b []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

// background runs a daemon until stop is called or the test ends.
func background(ctx context.Context, t *testing.T, dir string, args ...string) (stop func()) {
	t.Helper()
	running, cancel := context.WithCancel(ctx)
	cmd := caucus(running, dir, args...)
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { cancel(); _ = cmd.Wait() })
	t.Cleanup(stop)
	return stop
}

// TestCarriedIsSent: four hospitals have made their contributions to a study. The release is the
// same to the last byte, whether two of them are carried in files or all four are sent by wire.
func TestCarriedIsSent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir := carriedWorld(ctx, t)
	pack, err := os.ReadFile(filepath.Join(dir, "ward.pack"))
	if err != nil {
		t.Fatal(err)
	}
	const keySize = 1216 // X25519's key and ML-KEM-768's
	head := fmt.Appendf(nil, "seal %d\n", keySize)
	before, after, found := bytes.Cut(pack, head)
	if !found {
		t.Fatal("the pack has no key")
	}
	if err := os.WriteFile(filepath.Join(dir, "keyless.pack"),
		slices.Concat(before, after[keySize+1:]), 0o600); err != nil {
		t.Fatal(err)
	}
	var answering sync.WaitGroup
	for _, name := range carriedParties {
		answering.Go(func() {
			// If a carrier removes the key, nothing is charged and nothing is closed.
			out, err := caucus(ctx, dir, "agent", "answer", "keyless.pack", "--out", name+".answer",
				"--config", name+".yaml").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "no key to seal an answer to") {
				t.Errorf("%s, without a key: %v\n%s", name, err, out)
			}
			var doc siteverbs.LedgerDocument
			out, err = caucus(ctx, dir, "ledger", "show", "--dir", "state-"+name, "--json").Output()
			if err == nil {
				err = json.Unmarshal(out, &doc)
			}
			for _, u := range doc.Units {
				if err != nil || u.Charges != 0 {
					t.Errorf("%s, without a key: %d charges, %v", name, u.Charges, err)
				}
			}
			out, err = caucus(ctx, dir, "agent", "answer", "ward.pack", "--out", name+".answer",
				"--config", name+".yaml").CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	answering.Wait()
	releases := map[string][]byte{}
	for way, carried := range map[string][]string{"sent": nil, "carried": carriedParties[2:]} {
		world := t.TempDir()
		if err := copyFolder(dir, world); err != nil {
			t.Fatal(err)
		}
		must := patiently(ctx, t, world)
		var stops []func()
		stops = append(stops, background(ctx, t, world, "coordinator", "run", "--dir",
			"coordinator"))
		must("party", "list")
		for _, name := range carried {
			must("study", "accept", name+".answer", "--receipt", name+".receipt")
			must("agent", "unpack", name+".receipt", "--config", name+".yaml")
		}
		for _, name := range carriedParties[:len(carriedParties)-len(carried)] {
			stops = append(stops,
				background(ctx, t, world, "agent", "run", "--config", name+".yaml"))
		}
		// The carried answers belong to a pack that was made before this coordinator started. So it
		// waits for their parties to call. Once all answers are accepted, the operator waives that.
		for len(carried) > 0 && ctx.Err() == nil &&
			caucus(ctx, world, "study", "waive", "ward").Run() != nil {
			time.Sleep(50 * time.Millisecond)
		}
		must("study", "wait", "ward")
		releases[way] = must("study", "result", "ward", "--json")
		for _, stop := range stops {
			stop()
		}
		for _, name := range carried {
			if b, err := filepath.Glob(filepath.Join(world, "state-"+name, "studies", "*",
				"receipt.json")); err != nil || len(b) != 1 {
				t.Errorf("%s has no receipt: %v", name, err)
			}
		}
	}
	if !bytes.Equal(releases["sent"], releases["carried"]) {
		t.Errorf("sent by wire:\n%s\ncarried:\n%s", releases["sent"], releases["carried"])
	}
}

// TestCarriedAnswerKilled: an agent that is killed at any effect of an answer goes on when it is
// started again. The ledger is charged once, and every later answer has the same bytes as the
// first.
func TestCarriedAnswerKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir := carriedWorld(ctx, t)
	const most = 10 // effects of an answer, plus one
	var lives sync.WaitGroup
	ends := make([]bool, most+1) // whether the n-th run was not killed
	slots := make(chan struct{}, 4)
	for n := 1; n <= most; n++ {
		lives.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			world := t.TempDir()
			if err := copyFolder(dir, world); err != nil {
				t.Error(err)
				return
			}
			answer := filepath.Join(world, "c.answer")
			args := []string{"agent", "answer", "ward.pack", "--out", "c.answer", "--config",
				"hospital-c.yaml"}
			cmd := caucus(ctx, world, args...)
			cmd.Env = append(cmd.Env, fmt.Sprintf("CAUCUS_TEST_KILL_AT=%d", n))
			err := cmd.Run()
			var exit *exec.ExitError
			switch {
			case err == nil:
				ends[n] = true
				return
			case !errors.As(err, &exit) ||
				exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL:
				t.Errorf("life %d ended: %v", n, err)
				return
			}
			before, _ := os.ReadFile(answer)
			kept, _ := filepath.Glob(filepath.Join(world, "state-hospital-c", "studies", "*",
				"upload"))
			var upload []byte
			if len(kept) == 1 {
				upload, _ = os.ReadFile(kept[0])
			}
			if out, err := caucus(ctx, world, args...).CombinedOutput(); err != nil {
				t.Errorf("killed at effect %d, then: %v\n%s", n, err, out)
				return
			}
			after, err := os.ReadFile(answer)
			if err != nil || before != nil && !bytes.Equal(before, after) {
				t.Errorf("killed at effect %d: another answer is written, %v", n, err)
			}
			kept, _ = filepath.Glob(filepath.Join(world, "state-hospital-c", "studies", "*",
				"upload"))
			if b, err := os.ReadFile(kept[0]); err != nil || upload != nil &&
				!bytes.Equal(b, upload) {
				t.Errorf("killed at effect %d: another contribution is made, %v", n, err)
			}
			var doc siteverbs.LedgerDocument
			out, err := caucus(ctx, world, "ledger", "show", "--dir", "state-hospital-c",
				"--json").Output()
			if err != nil || json.Unmarshal(out, &doc) != nil {
				t.Errorf("ledger: %v", err)
			}
			for _, u := range doc.Units {
				if u.Unit.String() == "record" && u.Charges != 1 {
					t.Errorf("killed at effect %d: %d charges", n, u.Charges)
				}
			}
		})
	}
	lives.Wait()
	// notice, plan, pool, charged, time fixed, answered, upload, sealed, written
	if cut := slices.Index(ends[1:], true); cut != most-1 {
		t.Errorf("an answer has %d effects, want %d", cut, most-1)
	}
}
