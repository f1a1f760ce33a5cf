package coordinator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/testlevel"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// The environment that makes the test binary a coordinator to kill: its folder,
// and at which effect it kills itself, as "effect#2" for its second time; never
// where empty.
const (
	childFolder = "CAUCUS_COORDINATOR_CHILD"
	childKill   = "CAUCUS_COORDINATOR_KILL"
)

// childBatch makes a study of four parties fold in two transactions.
const childBatch = 3

// runChild runs a coordinator that kills itself at the n-th effect. Before each request to the
// ledger, it writes the sum or the kept bodies that it is about to release to a file.
func runChild() {
	dir := os.Getenv(childFolder)
	config := must(folder.LoadConfig(filepath.Join(dir, folder.ConfigFile)))
	config.CheckInterval, config.WitnessWait, config.AllowNoStandby = 2*time.Millisecond, 0, true
	config.Limits.Rate, config.Limits.Burst = 1e6, 1e6
	kill, times := os.Getenv(childKill), map[string]int{}
	var s *Server
	mark := make(chan struct{}, 1) // one effect is counted at a time
	config.Checkpoint = func(effect string) {
		mark <- struct{}{}
		defer func() { <-mark }()
		if effect == "before ledger" {
			for _, c := range s.registry.all() {
				must(0, s.store.View(context.Background(), func(tx records.Tx) error {
					sum, _, err := tx.Sum(c.hash)
					if sum == nil {
						sum = keptIn(tx, c.hash)
					}
					f := must(os.OpenFile(filepath.Join(dir, "sums"),
						os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
					fmt.Fprintf(f, "%x\n", sum)
					f.Close()
					return err
				}))
			}
		}
		times[effect]++
		now := fmt.Sprintf("%s#%d", effect, times[effect])
		fmt.Println("effect", now)
		if now == kill {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {} // wait for the signal
		}
	}
	s = must(New(config))
	for _, c := range s.registry.all() {
		c.batch = childBatch
	}
	fmt.Println("listens", s.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := s.Run(ctx); err != nil {
		panic(err)
	}
}

// child is a coordinator in a process of its own.
type child struct {
	cmd     *exec.Cmd
	lines   *bufio.Scanner
	address string
}

func startChild(t *testing.T, dir, kill string) *child {
	t.Helper()
	// kills the process if the test ends early
	c := &child{cmd: exec.CommandContext(t.Context(), must(os.Executable()))}
	c.cmd.Env = append(os.Environ(), childFolder+"="+dir, childKill+"="+kill)
	c.cmd.Stderr = os.Stderr
	c.lines = bufio.NewScanner(must(c.cmd.StdoutPipe()))
	must(0, c.cmd.Start())
	if !c.lines.Scan() {
		t.Fatalf("the coordinator ended: %v", c.cmd.Wait())
	}
	c.address = strings.TrimPrefix(c.lines.Text(), "listens ")
	return c
}

// end reads the remaining effects that the process prints, and waits for its end.
func (c *child) end() (effects []string) {
	for c.lines.Scan() {
		if e, ok := strings.CutPrefix(c.lines.Text(), "effect "); ok {
			effects = append(effects, e)
		}
	}
	_ = c.cmd.Wait()
	return effects
}

// TestKill: in a study of four parties, the coordinator is killed at each of its effects and
// started again. Each party votes on its own row only, so any cell above 1 in the sum proves that a
// vote was counted twice. Every acknowledged contribution is in the sum. There is one release, and
// the ledger agrees with it.
func TestKill(t *testing.T) {
	const parties = 4
	roster, pool := names(parties), poolOf(parties)
	var bodies [][]byte
	for i := range parties {
		bodies = append(bodies, ballotFor(i, parties))
	}
	killed(t, planOf(roster, pool, time.Now().Add(time.Hour)), pool, bodies, 2)
}

// TestKillKept is TestKill for a study of two parties that keeps its bodies: no batches are folded,
// and each body is in the release once.
func TestKillKept(t *testing.T) {
	roster, pool := names(2), poolOf(30)
	plan := ratioPlan(roster, pool, time.Now().Add(time.Hour))
	killed(t, plan, pool, contributionsTo(must(newStudyChecker(plan, pool)).task, 2, 20), 0)
}

// killed runs a study to its end, with a kill at each of its effects. The study is folded in the
// given number of batches.
func killed(t *testing.T, plan study.Plan, pool []byte, bodies [][]byte, batches int) {
	t.Helper()
	roster := plan.Roster
	// Each n gets a copy of one folder, which has all that comes before the study's own effects.
	w := newWorldIn(t, nil, nil)
	identities := map[study.PartyID]protocol.Identity{}
	for _, p := range roster {
		text, _, err := w.operator.Invite(context.Background(),
			admin.InviteOptions{Name: string(p)})
		if err != nil {
			t.Fatal(err)
		}
		identities[p] = must(protocol.Enrol(context.Background(),
			must(protocol.ParseInvitation(text)), must(protocol.NewEnrolment()),
			protocol.DialOptions{}))
	}
	must(0, w.operator.UploadPool(context.Background(), plan.Pool, pool))
	must(w.operator.CreateStudy(context.Background(), must(plan.Canonical()), nil))
	operator := must(protocol.LoadIdentity(filepath.Join(w.config.Dir, folder.OperatorFile)))
	w.stop()

	// carry runs one study to its end, with a kill at one effect, and checks the files that remain.
	carry := func(kill string) []string {
		dir := filepath.Join(t.TempDir(), "coordinator")
		copyFolder(dir, w.config.Dir)
		must(0, os.WriteFile(dir+".head", must(os.ReadFile(w.config.HeadFile())), 0o600))
		if store != nil {
			must(folder.MoveToPostgreSQL(context.Background(), dir, store(t)))
		}
		effects, restarts := runKilled(t, dir, kill, plan, operator, identities,
			func(protocol.Signed) [][]byte {
				return bodies
			})
		if restarts != min(len(kill), 1) {
			t.Errorf("killed at %q: started again %d times", kill, restarts)
		}
		sums := strings.Fields(string(must(os.ReadFile(filepath.Join(dir, "sums")))))
		want := hex.EncodeToString(sumOf(plan, pool, bodies))
		if slices.ContainsFunc(sums, func(s string) bool { return s != want }) {
			t.Errorf("killed at %q: sums %v, want %s", kill, sums, want)
		}
		stores := must(folder.OpenStores(must(folder.LoadConfig(filepath.Join(dir,
			folder.ConfigFile)))))
		defer stores.Close()
		must(0, stores.Store.View(context.Background(), func(tx records.Tx) error {
			hash := study.HashOf(must(plan.Canonical()))
			row := must(tx.Release(hash))
			signer := must(protocol.LoadSigner(filepath.Join(dir, folder.SignerFile)))
			r := must(protocol.ParseRelease(row.Document, row.Signature, signer.Key()))
			if batches > 0 {
				agree(t, dir, plan, pool, bodies, r)
			} else {
				agreeKept(t, protocol.Study{Plan: plan}, pool, bodies, r)
			}
			for _, p := range plan.Roster {
				must(tx.Receipt(hash, p))
			}
			return nil
		}))
		return effects
	}
	all := carry("")
	for kind, times := range map[string]int{
		"life.StudyOpened": 1, "life.ContributionReceived": len(roster), "batch folded": batches, "life.SumDone": 1, "ledger": 1, "life.ReleaseDone": 1,
	} {
		for i := range times {
			for _, e := range []string{"before ", "after "} {
				if e = fmt.Sprintf("%s%s#%d", e, kind, i+1); !slices.Contains(all, e) {
					t.Errorf("effect %q is not among %q", e, all)
				}
			}
		}
	}
	for _, e := range testlevel.Of(t, all, some(5)) {
		carry(e)
	}
}

// runKilled runs a study to its end with a coordinator that kills itself at an effect and is
// started again. Parties contribute with their helper's acceptance if the plan has one. Everybody
// repeats failed calls. It returns the effects and the number of restarts.
func runKilled(t *testing.T, dir, kill string, plan study.Plan, operator protocol.Identity,
	parties map[study.PartyID]protocol.Identity,
	under func(acceptance protocol.Signed) (bodies [][]byte)) (effects []string, restarts int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := startChild(t, dir, kill)
	hash := study.HashOf(must(plan.Canonical()))
	receipts := map[study.PartyID][]byte{}
	// attempt makes a call until the coordinator answers. It starts a killed coordinator again.
	attempt := func(id protocol.Identity, call func(*admin.Client) error) {
		for {
			client := must(admin.Dial(id,
				protocol.DialOptions{Coordinator: c.address, Timeout: 5 * time.Second,
					TransferTimeout: 5 * time.Second}))
			err := call(client)
			client.Close()
			if err == nil {
				return
			}
			if !protocol.IsRetryable(err) || ctx.Err() != nil {
				t.Fatalf("killed at %q: %v", kill, err)
			}
			if c.dead() {
				effects = append(effects, c.end()...)
				c = startChild(t, dir, "")
				restarts++
			}
		}
	}
	attempt(operator, func(o *admin.Client) error {
		_, err := o.Open(ctx, plan.Name)
		return err
	})
	var bodies [][]byte
	attempt(parties[plan.Roster[0]], func(o *admin.Client) error {
		s, err := o.Study(ctx, plan.Name)
		if err == nil {
			bodies = under(s.Helper)
		}
		return err
	})
	for round := range 2 { // the second round sends everything again
		for i, p := range plan.Roster {
			attempt(parties[p], func(o *admin.Client) error {
				r, err := o.Contribute(ctx, hash, bodies[i])
				if err != nil {
					return err
				}
				if round == 1 && !bytes.Equal(receipts[p], r.Document) {
					t.Errorf("killed at %q: a resend of %s got another receipt", kill, p)
				}
				receipts[p] = r.Document
				return nil
			})
		}
	}
	for state := study.Open; state != study.Released; {
		// Agents call all the time, and after a start, the release waits for their calls. With
		// PostgreSQL, a start also asks for contributions again.
		for i, p := range plan.Roster {
			attempt(parties[p], func(o *admin.Client) error {
				list, err := o.Studies(ctx)
				if err == nil && len(list.Studies) > 0 && list.Studies[0].CallerLost {
					_, err = o.Contribute(ctx, hash, bodies[i])
				}
				return err
			})
		}
		attempt(operator, func(o *admin.Client) error {
			s, err := o.Study(ctx, plan.Name)
			state = s.State
			return err
		})
	}
	must(0, c.cmd.Process.Signal(syscall.SIGTERM))
	return append(effects, c.end()...), restarts
}

// dead reports whether the process has ended, even if nobody has waited for it (a zombie).
func (c *child) dead() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "Z")
}

// TestLedgerBehind: a ledger restored from an older backup releases nothing.
func TestLedgerBehind(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(2)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(2)
	contribute := func(name string) {
		p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
		p.Name = name
		s := w.open(p, pool)
		for i, party := range roster {
			must(w.parties[string(party)].Contribute(ctx, s.Hash, ballotFor(i, 2)))
		}
	}
	contribute("first")
	w.wait("first", study.Released)
	w.stop()
	for _, path := range must(filepath.Glob(filepath.Join(w.config.Dir, folder.LedgerFile+"*"))) {
		must(0, os.Remove(path))
	}
	if _, err := New(w.config); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("started without a ledger: %v", err)
	}
	must(0, must(journal.OpenSQLite(filepath.Join(w.config.Dir, folder.LedgerFile))).Close())
	w.start()
	contribute("second")
	for until := time.Now().Add(5 * time.Second); !strings.Contains(w.log.String(),
		"behind what was published"); {
		if time.Now().After(until) {
			t.Fatalf("the log does not say that the ledger is behind\n%s", w.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if s := w.wait("second", study.Summed); s.State != study.Summed {
		t.Errorf("study is %s", s.State)
	}
}
