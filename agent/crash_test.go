package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// victim is an agent process that is killed at its n-th effect. Its uploads are in a file beside
// the state, as a coordinator would have them.
func victim() {
	dir := os.Getenv("AGENT_TEST_DIR")
	n, _ := strconv.Atoi(os.Getenv("AGENT_TEST_VICTIM"))
	r := victimRig(dir, study.Noise(os.Getenv("AGENT_TEST_NOISE")))
	received := filepath.Join(dir, "received")
	if b, err := os.ReadFile(received); err == nil {
		r.stored = b
	}
	r.Config.Checkpoint = func(effect string) {
		if effect == "sent" {
			if err := os.WriteFile(received, r.stored, 0o600); err != nil {
				panic(err)
			}
		}
		fmt.Println(effect)
		if n--; n == 0 {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		}
	}
	a, err := r.open()
	if err != nil {
		panic(err)
	}
	for range 2 {
		if err := a.PollOnce(context.Background()); err != nil {
			panic(err)
		}
		a.SendCharged(context.Background())
		r.state = study.Released
	}
	io.Copy(os.Stderr, r.Log)
	a.Close()
}

func victimStudy(noise study.Noise) func(*study.Proposal) {
	return func(p *study.Proposal) {
		if p.Noise = noise; noise != study.NoiseSite {
			p.Mechanism = "tally"
		}
	}
}

// victimRig is the same in every process: the first process makes a helper, and the others find its
// keys and acceptance in a file.
func victimRig(dir string, noise study.Noise) *rig {
	r := rigIn(dir, victimStudy(noise))
	if noise != study.NoiseAggregators {
		return r
	}
	type said struct {
		Helper     policy.Helper
		Acceptance protocol.Signed
	}
	file := filepath.Join(dir, "helper")
	text, err := os.ReadFile(file)
	if err != nil {
		a := r.agree()
		text = must(json.Marshal(said{a.helper(), a.signed()}))
		must(0, os.WriteFile(file, text, 0o600))
	}
	var s said
	must(0, json.Unmarshal(text, &s))
	r.trust(s.Helper, s.Acceptance)
	return r
}

// life runs an agent process that is killed at its n-th effect, 0 for never.
func life(t *testing.T, dir string, noise study.Noise, n int) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("AGENT_TEST_VICTIM=%d", n), "AGENT_TEST_DIR="+dir,
		"AGENT_TEST_NOISE="+string(noise))
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		if exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("it died of %v, not of being killed:\n%s%s", err, out, exit.Stderr)
		}
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// TestKilledBetweenEffects kills an agent with SIGKILL at each of its effects and starts it again:
// the coordinator gets one contribution, always the same bytes, the ledger is charged once, and
// receipt and release arrive.
func TestKilledBetweenEffects(t *testing.T) {
	for _, noise := range study.Noises() {
		t.Run(string(noise), func(t *testing.T) {
			n := 0
			for killed := true; killed; {
				n++
				dir := t.TempDir()
				killed = life(t, dir, noise, n)
				before, _ := os.ReadFile(filepath.Join(dir, "received"))
				life(t, dir, noise, 0)
				received, err := os.ReadFile(filepath.Join(dir, "received"))
				if err != nil {
					t.Fatal(err)
				}
				if before != nil && !bytes.Equal(before, received) {
					t.Errorf("killed at effect %d: other bytes were sent after the crash", n)
				}
				a := victimRig(dir, noise).agent(t)
				if c := charges(t, a, privacy.Record); c != 1 {
					t.Errorf("killed at effect %d: %d charges, want 1", n, c)
				}
				d := a.site.Studies.Folder(victimRig(dir, noise).hash)
				if upload, err := d.Read(site.FileUpload); err != nil ||
					!bytes.Equal(upload, received) {
					t.Errorf("killed at effect %d: the upload on disk is not what was received (%v)", n, err)
				}
				if !d.Has(site.FileReceipt) || !d.Has(site.FileRelease) {
					t.Errorf("killed at effect %d: receipt or release is missing", n)
				}
			}
			// plan, pool, charged, time fixed, answered, upload, sent, receipt, release
			if n != 10 {
				t.Errorf("a whole run has %d effects, want 9", n-1)
			}
		})
	}
}
