//go:build unix

package coordinator

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/testlevel"
	"caucus/internal/testserver"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// replicaFolder is the environment variable that makes the test binary a replica.
const replicaFolder = "CAUCUS_REPLICA_FOLDER"

func init() { asReplica = runReplica }

// runReplica is a replica that leads when it can. It writes down each whole sum that it is about to release.
func runReplica() {
	dir := os.Getenv(replicaFolder)
	config := must(folder.LoadConfig(filepath.Join(dir, folder.ConfigFile)))
	config.Tick, config.WitnessWait, config.Grace = 2*time.Millisecond, 0, 0
	config.Limits.Rate, config.Limits.Burst = 1e6, 1e6
	config.Log = slog.New(slog.NewTextHandler(must(os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)), nil))
	var s *Server
	config.Checkpoint = func(effect string) {
		if effect != "before ledger" {
			return
		}
		for _, c := range s.registry.all() {
			_ = s.store.View(context.Background(), func(tx records.Tx) error {
				sum, n, err := tx.Sum(c.hash)
				if err == nil && n == chaosParties {
					f := must(os.OpenFile(filepath.Join(dir, "sums"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
					fmt.Fprintf(f, "%x\n", sum)
					f.Close()
				}
				return err
			})
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	if config.Stores, err = Lead(ctx, config); err == nil {
		if s, err = New(config); err == nil {
			err = s.Run(ctx)
		}
	}
	if err != nil {
		config.Log.Error("the replica ends", "error", err)
		os.Exit(1)
	}
}

const chaosParties = 4

// replica is one that is started again whenever it ends.
type replica struct {
	dir, address string

	mu   sync.Mutex
	run  *exec.Cmd
	over bool
}

func (r *replica) live() {
	for {
		r.mu.Lock()
		if r.over {
			r.mu.Unlock()
			return
		}
		r.run = exec.Command(must(os.Executable()))
		r.run.Env = append(os.Environ(), replicaFolder+"="+r.dir)
		r.run.Stderr = os.Stderr
		must(0, r.run.Start())
		run := r.run
		r.mu.Unlock()
		_ = run.Wait()
		time.Sleep(50 * time.Millisecond)
	}
}

func (r *replica) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil && r.run.Process != nil {
		_ = r.run.Process.Signal(s)
	}
}

func (r *replica) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.signal(syscall.SIGCONT)
	r.signal(syscall.SIGKILL)
}

// TestChaos: three replicas as processes, a PostgreSQL with a synchronous standby, and parties that send what they
// sent again when they are asked. Replicas and both servers of PostgreSQL are killed, and replicas are paused, at random.
// Every study has one release, of all its parties; the ledger is charged once for each; each sum is that of the ballots.
func TestChaos(t *testing.T) {
	lasts, pause := 4*time.Second, 3*time.Second
	if testlevel.Long() {
		lasts, pause = 2*time.Minute, 8*time.Second
	}
	ctx := context.Background()
	pair := testserver.NewPair(t)
	w := newWorld(t, nil)
	identities := map[string]protocol.Identity{"operator": must(protocol.LoadIdentity(filepath.Join(w.config.Dir, folder.OperatorFile)))}
	roster := names(chaosParties)
	for _, p := range roster {
		text, _, err := w.operator.Invite(ctx, protocol.InviteOptions{Name: string(p)})
		must(0, err)
		identities[string(p)] = must(protocol.Enrol(ctx, must(protocol.ParseInvitation(text)), must(protocol.NewEnrolment()), protocol.DialOptions{}))
	}
	w.stop()
	must(folder.Move(ctx, w.config.Dir, pair.Address()))
	var replicas []*replica
	var addresses []string
	for i := range 3 {
		r := &replica{dir: filepath.Join(t.TempDir(), fmt.Sprint("replica", i)), address: "127.0.0.1:" + must(testlevel.FreePort())}
		must(0, os.CopyFS(r.dir, os.DirFS(w.config.Dir)))
		for _, name := range must(filepath.Glob(filepath.Join(r.dir, "*"))) {
			must(0, os.Chmod(name, 0o600))
		}
		must(0, os.Chmod(r.dir, 0o700))
		must(0, os.WriteFile(r.dir+".head", must(os.ReadFile(w.config.HeadFile())), 0o600))
		path := filepath.Join(r.dir, folder.ConfigFile)
		text := string(must(os.ReadFile(path)))
		text = strings.ReplaceAll(text, "127.0.0.1:0", r.address)
		text = strings.ReplaceAll(text, filepath.Base(w.config.HeadFile()), filepath.Base(r.dir)+".head")
		must(0, os.WriteFile(path, []byte(text), 0o600))
		replicas, addresses = append(replicas, r), append(addresses, r.address)
	}
	var under sync.WaitGroup
	for _, r := range replicas {
		under.Go(r.live)
	}
	over := make(chan struct{})
	defer func() {
		for _, r := range replicas {
			r.end()
		}
		under.Wait()
	}()
	dial := func(name string) *protocol.Client {
		return must(protocol.Dial(identities[name], protocol.DialOptions{Coordinator: strings.Join(addresses, ","), Timeout: 2 * time.Second}))
	}

	// Parties send their ballot to every study that lacks it, and read every release.
	pool := poolOf(chaosParties)
	var mu sync.Mutex
	releases := map[study.Hash][]byte{}
	for i, p := range roster {
		under.Go(func() {
			c := dial(string(p))
			defer c.Close()
			for {
				select {
				case <-over:
					return
				case <-time.After(30 * time.Millisecond):
				}
				list, err := c.Studies(ctx)
				for _, s := range list.Studies {
					if err == nil && (s.State == study.Open && !s.Mine || s.Lost) {
						_, err = c.Contribute(ctx, s.Hash, ballotFor(i, chaosParties))
					}
					if err == nil && s.State == study.Released {
						var r protocol.SignedRelease
						if r, err = c.Release(ctx, s.Hash.String()); err == nil {
							mu.Lock()
							if had := releases[s.Hash]; had != nil && !bytes.Equal(had, r.Document) {
								t.Errorf("study %s has two releases", s.Name)
							}
							releases[s.Hash] = r.Document
							mu.Unlock()
						}
					}
				}
				if err != nil {
					_ = c.HangUp()
				}
			}
		})
	}

	// Nobody leads while nobody answers.
	var gaps []time.Duration
	under.Go(func() {
		c := dial("operator")
		defer c.Close()
		for last, failed := time.Now(), false; ; {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			one, stop := context.WithTimeout(ctx, 500*time.Millisecond)
			_, err := c.Members(one)
			if stop(); err != nil {
				failed = true
				_ = c.HangUp()
				continue
			}
			if failed {
				gaps = append(gaps, time.Since(last))
			}
			last, failed = time.Now(), false
		}
	})

	// Something breaks again and again.
	begun, done := time.Now(), make(chan map[string]int)
	go func() {
		broke := map[string]int{}
		for time.Since(begun) < lasts {
			time.Sleep(time.Duration(500+rand.IntN(2000)) * time.Millisecond)
			r := replicas[rand.IntN(len(replicas))]
			switch n := rand.IntN(8); {
			case n < 4:
				broke["replica killed"]++
				r.signal(syscall.SIGKILL)
			case n < 6:
				broke["replica paused"]++
				r.signal(syscall.SIGSTOP)
				time.AfterFunc(rand.N(pause), func() { r.signal(syscall.SIGCONT) })
			case n < 7:
				broke["standby killed"]++
				pair.Standby.Kill()
				time.Sleep(200 * time.Millisecond)
				pair.Standby.Start()
			default:
				broke["primary killed"]++
				pair.Primary.Kill()
				time.Sleep(200 * time.Millisecond)
				pair.Primary.Start()
			}
		}
		time.Sleep(pause) // who was paused goes on
		done <- broke
	}()
	operator := dial("operator")
	defer operator.Close()
	persist := func(what string, fn func() error) {
		for until := time.Now().Add(lasts + time.Minute); ; time.Sleep(20 * time.Millisecond) {
			err := fn()
			if err == nil {
				return
			}
			if time.Now().After(until) {
				close(over)
				t.Fatalf("%s: %v", what, err)
			}
			_ = operator.HangUp()
		}
	}
	var broke map[string]int
	studies := 0
	plan := planOf(roster, pool, time.Now().Add(time.Hour))
	persist("pool", func() error { return operator.UploadPool(ctx, plan.Pool, pool) })
	for broke == nil {
		plan.Name = fmt.Sprint("study", studies)
		studies++
		persist("create", func() error { _, err := operator.CreateStudy(ctx, must(plan.Canonical()), nil); return err })
		persist("open", func() error {
			_, err := operator.Open(ctx, plan.Name)
			if err != nil {
				if s, look := operator.Study(ctx, plan.Name); look == nil && s.State != study.InDraft {
					return nil
				}
			}
			return err
		})
		persist("release", func() error {
			s, err := operator.Study(ctx, plan.Name)
			if err == nil && s.State == study.Failed {
				t.Fatalf("study failed: %s", s.Reason)
			}
			if err == nil && s.State != study.Released {
				err = errors.New(string(s.State))
			}
			return err
		})
		select {
		case broke = <-done:
		default:
		}
	}
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		mu.Lock()
		read := len(releases)
		mu.Unlock()
		if read == studies {
			break
		}
	}
	time.Sleep(300 * time.Millisecond) // the other parties read the last release too
	close(over)
	for _, r := range replicas {
		r.end()
	}
	under.Wait()

	w.config.Store = pair.Address()
	stores := must(folder.OpenStores(w.config))
	defer stores.Close()
	if n := must(privacy.Verify(ctx, stores.Journal))[privacy.Party].Charges; n != int64(studies) {
		t.Errorf("%d charges of %d studies", n, studies)
	}
	if len(releases) != studies {
		t.Errorf("%d of %d studies have a release", len(releases), studies)
	}
	var bodies [][]byte
	for i := range roster {
		bodies = append(bodies, ballotFor(i, chaosParties))
	}
	want, sums := hex.EncodeToString(sumOf(plan, pool, bodies)), 0
	for _, r := range replicas {
		text, _ := os.ReadFile(filepath.Join(r.dir, "sums"))
		for _, sum := range strings.Fields(string(text)) {
			if sums++; sum != want {
				t.Errorf("the sum is %s, the ballots' is %s", sum, want)
			}
		}
	}
	if sums < studies {
		t.Errorf("%d sums of %d studies", sums, studies)
	}
	slices.Sort(gaps)
	if len(gaps) > 0 {
		t.Logf("%d studies; %v; without a leader %d times: median %v, worst %v", studies, broke, len(gaps), gaps[len(gaps)/2].Round(time.Millisecond), gaps[len(gaps)-1].Round(time.Millisecond))
	}
}
