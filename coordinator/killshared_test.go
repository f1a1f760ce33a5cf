package coordinator

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"caucus/aggregation/shares"
	aggregators "caucus/aggregator"
	"caucus/aggregator/helper"
	"caucus/aggregator/uploading"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

// The environment that makes the test binary a helper to kill.
const (
	helperFolder = "CAUCUS_HELPER_CHILD"
	helperKill   = "CAUCUS_HELPER_KILL"
)

// runHelper runs a helper that kills itself at an effect.
func runHelper() {
	config := must(helper.LoadConfig(os.Getenv(helperFolder)))
	kill, times := os.Getenv(helperKill), map[string]int{}
	var mu sync.Mutex
	config.Checkpoint = func(effect string) {
		mu.Lock()
		defer mu.Unlock()
		times[effect]++
		now := fmt.Sprintf("%s#%d", effect, times[effect])
		fmt.Println("effect", now)
		if now == kill {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {} // wait for the signal
		}
	}
	s := must(helper.New(config))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := s.Run(ctx); err != nil {
		panic(err)
	}
}

// keptHelper is a helper process that is started again whenever it ends, until stopped.
type keptHelper struct {
	mu      sync.Mutex // guards cmd, stopped and starts
	cmd     *exec.Cmd
	dir     string
	stopped bool
	starts  int
	effects []string // read after the stop
	done    chan struct{}
}

func keepHelper(t *testing.T, dir, kill string) *keptHelper {
	h := &keptHelper{dir: dir, done: make(chan struct{})}
	t.Cleanup(func() { h.end() }) // also if the test ends early
	go func() {
		defer close(h.done)
		for {
			cmd := exec.Command(must(os.Executable()))
			cmd.Env = append(os.Environ(), helperFolder+"="+dir, helperKill+"="+kill)
			cmd.Stderr = os.Stderr
			lines := bufio.NewScanner(must(cmd.StdoutPipe()))
			h.mu.Lock()
			if h.stopped {
				h.mu.Unlock()
				return
			}
			h.cmd, kill = cmd, ""
			h.starts++
			must(0, cmd.Start())
			h.mu.Unlock()
			for lines.Scan() {
				if e, ok := strings.CutPrefix(lines.Text(), "effect "); ok {
					h.effects = append(h.effects, e)
				}
			}
			_ = cmd.Wait()
		}
	}()
	return h
}

func (k *keptHelper) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cmd != nil {
		_ = k.cmd.Process.Kill()
	}
}

func (k *keptHelper) end() (effects []string, starts int) {
	k.mu.Lock()
	k.stopped = true
	if k.cmd != nil {
		_ = k.cmd.Process.Signal(syscall.SIGTERM)
	}
	k.mu.Unlock()
	<-k.done
	return k.effects, k.starts
}

// copied copies the folders of both stopped servers, for processes that find each other at the
// copies' addresses.
func (sw *sharedWorld) copied(t *testing.T) (dir, second string) {
	top := t.TempDir()
	dir, second = filepath.Join(top, "coordinator"), filepath.Join(top, "helper")
	copyFolder(dir, sw.config.Dir)
	copyFolder(second, sw.helper.Dir)
	for from, to := range map[string]string{sw.config.HeadFile(): dir + ".head",
		sw.config.SharesHead(): dir + ".shares.head", sw.helper.Dir + ".head": second + ".head"} {
		must(0, os.WriteFile(to, must(os.ReadFile(from)), 0o600))
	}
	address := "127.0.0.1:" + must(testlevel.FreePort())
	settle(t, filepath.Join(dir, folder.ConfigFile), "address: "+sw.config.Helper.Address,
		"address: "+address)
	settle(t, filepath.Join(second, helper.ConfigFile), `listen: "127.0.0.1:0"`, "listen: "+address)
	settle(t, filepath.Join(second, helper.ConfigFile), "# coordinator: ",
		"coordinator: "+sw.server.sharing.keys[0].String())
	settle(t, filepath.Join(second, helper.ConfigFile), "party: {epsilon: 1,",
		"party: {epsilon: 8,")
	settle(t, filepath.Join(second, helper.ConfigFile), "minimum_parties: 3", "minimum_parties: 2")
	return dir, second
}

// settle replaces a text in a configuration file.
func settle(t *testing.T, path, old, new string) {
	t.Helper()
	text := strings.Replace(string(must(os.ReadFile(path))), old, new, 1)
	if !strings.Contains(text, new) {
		t.Fatalf("%s has no %q", path, old)
	}
	must(0, os.WriteFile(path, []byte(text), 0o600))
}

// TestKillShared: in a study with two servers as processes, either is killed by SIGKILL at each of
// its effects and started again. Every acknowledged contribution is in the release, once. Each
// ledger has one charge, and all documents that both signed verify. Each budget is exactly the
// study's cost, so a request that is repeated must not be counted twice. A short run tries a few
// effects, others each time one is added.
func TestKillShared(t *testing.T) {
	t.Parallel()
	const parties = 4
	w := newSharedWorld(t, 0, nil)
	w.stopHelper()
	identities := map[study.PartyID]protocol.Identity{}
	roster := names(parties)
	for _, p := range roster {
		text, _, err := w.operator.Invite(context.Background(),
			admin.InviteOptions{Name: string(p)})
		must(0, err)
		identities[p] = must(protocol.Enrol(context.Background(),
			must(protocol.ParseInvitation(text)), must(protocol.NewEnrolment()),
			protocol.DialOptions{}))
	}
	plan := planOf(roster, w.pool, time.Now().Add(time.Hour))
	plan.Noise = study.NoiseAggregators
	plan = withTerms(plan, w.pool)
	task := must(newStudyChecker(plan, w.pool)).task
	must(0, w.operator.UploadPool(context.Background(), plan.Pool, w.pool))
	must(w.operator.CreateStudy(context.Background(), must(plan.Canonical()), nil))
	operator := must(protocol.LoadIdentity(filepath.Join(w.config.Dir, folder.OperatorFile)))
	w.stop()
	sealing := must(server.LoadSealingKey(filepath.Join(w.helper.Dir, "sealing.key"))).Public()
	under := func(acceptance protocol.Signed) (bodies [][]byte) {
		for i, p := range roster {
			bodies = append(bodies,
				must(uploading.Contribute(task, p, inputs(task, i),
					uploading.Agreement{Sealing: sealing, Acceptance: acceptance.Digest()})))
		}
		return bodies
	}

	// carry runs the study to its end on copies of both folders.
	carry := func(killCoordinator, killHelper string) (effects, helpers []string) {
		dir, second := w.copied(t)
		settle(t, filepath.Join(dir, folder.ConfigFile), "budget: none", budgetOf(task, true))
		settle(t, filepath.Join(second, helper.ConfigFile), "budget: none", budgetOf(task, true))
		h := keepHelper(t, second, killHelper)
		effects, restarts := runKilled(t, dir, killCoordinator, plan, operator, identities, under)
		helpers, starts := h.end()
		if restarts != min(len(killCoordinator), 1) || starts != 1+min(len(killHelper), 1) {
			t.Errorf("killed at %q, the helper at %q: started again %d and %d times", killCoordinator, killHelper, restarts, starts-1)
		}
		for _, at := range []string{dir, second} {
			if n := ledgerOf(at); n != 1 {
				t.Errorf("killed at %q, the helper at %q: %s has %d charges", killCoordinator, killHelper, at, n)
			}
		}
		store := must(records.Open(filepath.Join(dir, folder.StoreFile)))
		defer store.Close()
		must(0, store.View(context.Background(), func(tx records.Tx) error {
			row := must(tx.Release(task.Hash()))
			r := must(protocol.ParseRelease(row.Document, row.Signature,
				must(protocol.LoadSigner(filepath.Join(dir, folder.SignerFile))).Key()))
			if r.Parties != parties {
				t.Errorf("killed at %q, the helper at %q: released of %d", killCoordinator,
					killHelper, r.Parties)
			}
			for _, f := range verify.CheckClaims(r, poolUnder(plan, w.pool)) {
				if f.Verdict == evidence.Fails {
					t.Errorf("killed at %q, the helper at %q: %s: %s", killCoordinator, killHelper,
						f.Subject, f.Text)
				}
			}
			for _, p := range roster {
				must(tx.Receipt(task.Hash(), p))
			}
			return nil
		}))
		return effects, helpers
	}
	all, helpers := carry("", "")
	for _, e := range []string{"after life.StudyOpened#1", "after upload stored#1",
		"after batch folded#1", "after message stored#1", "after verdict stored#1",
		"after set stored#1", "after ledger#1", "after share stored#1",
		"after helper's share stored#1", "after life.ReleaseDone#1"} {
		if !slices.Contains(all, e) {
			t.Errorf("effect %q is not among %q", e, all)
		}
	}
	for _, e := range []string{"after plan kept#1", "after acceptance stored#1",
		"after key stored#1", "after preparation stored#1", "after set stored#1", "after ledger#1",
		"after share stored#1"} {
		if !slices.Contains(helpers, e) {
			t.Errorf("the helper's effect %q is not among %q", e, helpers)
		}
	}
	t.Logf("%d effects of the coordinator, %d of the helper", len(all), len(helpers))
	for _, e := range testlevel.Of(t, all, some(3)) {
		carry(e, "")
	}
	for _, e := range testlevel.Of(t, helpers, some(2)) {
		carry("", e)
	}
	for i := range testlevel.N(t, 1, 40) { // both servers, at distant effects
		carry(all[(i+1)*37%len(all)], helpers[(i+1)*11%len(helpers)])
	}
}

// TestKillTold: the coordinator tells the helper that a study was cancelled. Both are processes,
// and either is killed by SIGKILL at each of its effects and started again. The study fails at
// both, its shares are deleted, and neither server is charged.
func TestKillTold(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	s := w.opened()
	w.checked(s, w.uploads(s))
	w.stopHelper()
	w.cancelled(s)
	w.stop()
	// ask opens a server's part of a stopped folder.
	ask := func(dir string, role shares.Role, head, key string, about func(*aggregators.Server)) {
		t.Helper()
		c := aggregators.Config{Role: role, Store: filepath.Join(dir, folder.SharesFile),
			Head: head, Signer: must(protocol.LoadSigner(filepath.Join(dir, key)))}
		if role == shares.Helper {
			c.Sealing = must(server.LoadSealingKey(filepath.Join(dir, "sealing.key")))
		}
		c.Journal = must(journal.OpenSQLite(filepath.Join(dir, folder.LedgerFile)))
		a := must(aggregators.Open(ctx, c))
		about(a)
		must(0, a.Close())
		if n := must(privacy.Verify(ctx, c.Journal))[privacy.Party].Charges; n != 0 {
			t.Errorf("the %v was charged %d times", role, n)
		}
		must(0, c.Journal.(*journal.Journal).Close())
	}
	carry := func(killCoordinator, killHelper string) (effects, helpers []string) {
		dir, second := w.copied(t)
		h := keepHelper(t, second, killHelper)
		// the coordinator tells the helper at its start, then each minute
		for told, wait := false, 300*time.Millisecond; !told; killCoordinator, wait = "", 2*wait {
			c := startChild(t, dir, killCoordinator)
			late := time.AfterFunc(wait, func() { _ = c.cmd.Process.Signal(syscall.SIGTERM) })
			for c.lines.Scan() {
				e, _ := strings.CutPrefix(c.lines.Text(), "effect ")
				if effects = append(effects, e); e == "remembered told stored#1" {
					_ = c.cmd.Process.Signal(syscall.SIGTERM)
				}
			}
			_ = c.cmd.Wait()
			late.Stop()
			ask(dir, shares.Coordinator, dir+".shares.head", folder.HelperSigningKeyFile,
				func(a *aggregators.Server) {
					told = len(must(a.UnreportedFailures(ctx))) == 0
				})
		}
		helpers, _ = h.end()
		ask(second, shares.Helper, second+".head", "signer.key", func(a *aggregators.Server) {
			if n := must(a.Counts(ctx)); n != (aggregators.StudyCounts{Failed: 1,
				ContributionsAccepted: 3}) {
				t.Errorf("killed at %q, the helper at %q: it has %+v", killCoordinator, killHelper,
					n)
			}
		})
		return effects, helpers
	}
	carry("", "")
	for _, at := range []string{"before ", "after ", "remembered "} {
		for _, kill := range [][2]string{{at + "told stored#1", ""}, {"", at + "end stored#1"}} {
			effects, helpers := carry(kill[0], kill[1])
			if !slices.Contains(append(effects, helpers...), kill[0]+kill[1]) {
				t.Errorf("nothing was killed at %q: the effects are %q and %q", kill, effects, helpers)
			}
		}
	}
}
