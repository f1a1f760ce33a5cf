//go:build unix

package coordinator

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"caucus/aggregator/uploading"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/testlevel"
	"caucus/internal/testserver"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

// replicaFolder is the environment variable that makes the test binary run as a replica in this
// folder. replicaSize holds the replica's chaosSize, as JSON.
const replicaFolder, replicaSize = "CAUCUS_REPLICA_FOLDER", "CAUCUS_REPLICA_SIZE"

func init() { asReplica = runReplica }

// chaosSize sets the number of parties and the time between a party's calls (Polls), how long
// faults are made (Lasts) and their least number, and the longest pause of a process.
type chaosSize struct {
	Parties, Faults     int
	Lasts, Pause, Polls time.Duration
}

// stopHere pauses this process for a random time. The process may be within a transaction.
func stopHere(most time.Duration) {
	wake := exec.Command("sh", "-c",
		fmt.Sprintf("sleep %.2f; kill -CONT %d", rand.N(most).Seconds(), os.Getpid()))
	if wake.Start() == nil {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		_ = wake.Wait()
	}
}

// stopsAt is the file that names the effect at which a replica stops once. The replica then renames
// the file to stoppedAt.
func stopsAt(dir string) string   { return filepath.Join(dir, "stops") }
func stoppedAt(dir string) string { return filepath.Join(dir, "stopped") }

// witnessed makes PostgreSQL record each row that a process commits while another process leads. A
// process's sessions carry its name.
const witnessed = `
CREATE SCHEMA witness;
CREATE TABLE witness.leader AS SELECT '' AS name;
CREATE TABLE witness.strays (name TEXT, place TEXT);
CREATE FUNCTION witness.leads() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
	UPDATE witness.leader SET name = current_setting('application_name');
	RETURN NULL;
END $$;
CREATE FUNCTION witness.writes() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO witness.strays SELECT current_setting('application_name'), TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME
		FROM witness.leader WHERE name <> current_setting('application_name');
	RETURN NULL;
END $$;
CREATE TRIGGER leads AFTER UPDATE ON caucus.lease EXECUTE FUNCTION witness.leads();
DO $$ DECLARE t RECORD; BEGIN
	FOR t IN SELECT * FROM pg_tables WHERE schemaname LIKE 'caucus\_%' AND tablename <> 'version' LOOP -- a version is looked up before anything is written
		EXECUTE format('CREATE CONSTRAINT TRIGGER writes AFTER INSERT OR UPDATE OR DELETE ON %I.%I DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION witness.writes()', t.schemaname, t.tablename);
	END LOOP;
END $$`

// runReplica runs a replica that leads whenever it can. It writes each whole sum to a file before
// it releases the sum.
func runReplica() {
	var size chaosSize
	must(0, json.Unmarshal([]byte(os.Getenv(replicaSize)), &size))
	dir := os.Getenv(replicaFolder)
	config := must(folder.LoadConfig(filepath.Join(dir, folder.ConfigFile)))
	config.CheckInterval, config.WitnessWait, config.StopGrace = 2*time.Millisecond, 0, 0
	config.Limits.Rate, config.Limits.Burst = 1e6, 1e6
	config.Limits.AllConnections, config.Limits.AllCalls = 20_000, 20_000
	config.Log = slog.New(slog.NewTextHandler(must(os.OpenFile(filepath.Join(dir, "log"),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)), nil))
	config.Store += fmt.Sprint("&application_name=", os.Getpid()) // see witnessed
	var s *Server
	config.Checkpoint = func(effect string) {
		if at, err := os.ReadFile(stopsAt(dir)); err == nil && string(at) == effect &&
			os.Rename(stopsAt(dir), stoppedAt(dir)) == nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		if rand.IntN(max(100, 2*size.Parties)) == 0 {
			config.Log.Info("paused", "at", effect)
			stopHere(size.Pause)
		}
		if effect != "before ledger" {
			return
		}
		for _, c := range s.registry.all() {
			_ = s.store.View(context.Background(), func(tx records.Tx) error {
				sum, n, err := tx.Sum(c.hash)
				if err == nil && n == size.Parties && string(sum) != handed {
					f := must(os.OpenFile(filepath.Join(dir, "sums"),
						os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
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
	if config.Stores, err = WaitToLead(ctx, config); err == nil {
		if s, err = New(config); err == nil {
			err = s.Run(ctx)
		}
	}
	if err != nil {
		config.Log.Error("the replica ends", "error", err)
		os.Exit(1)
	}
}

// line passes connections on until it is cut. Then nothing passes, as on a network that loses all
// packets.
type line struct {
	listener net.Listener
	to       func() (net.Conn, error)

	mu     sync.Mutex
	healed chan struct{} // closed while the line passes data
	open   map[net.Conn]bool
	under  sync.WaitGroup
}

func newLine(network, at, toNetwork, to string) *line {
	whole := make(chan struct{})
	close(whole)
	l := &line{listener: must(net.Listen(network, at)), to: func() (net.Conn, error) {
		return net.Dial(toNetwork, to)
	}, healed: whole, open: map[net.Conn]bool{}}
	l.under.Go(func() {
		for {
			from, err := l.listener.Accept()
			if err != nil {
				return
			}
			l.under.Go(func() {
				l.wait()
				to, err := l.to()
				if err != nil {
					from.Close()
					return
				}
				l.mu.Lock()
				l.open[from], l.open[to] = true, true
				l.mu.Unlock()
				l.under.Go(func() { l.copy(to, from) })
				l.copy(from, to)
				l.mu.Lock()
				delete(l.open, from)
				delete(l.open, to)
				l.mu.Unlock()
			})
		}
	})
	return l
}

func (l *line) wait() {
	l.mu.Lock()
	healed := l.healed
	l.mu.Unlock()
	<-healed
}

func (l *line) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	for some := make([]byte, 32<<10); ; {
		n, err := from.Read(some)
		if l.wait(); err != nil {
			return
		}
		if _, err := to.Write(some[:n]); err != nil {
			return
		}
	}
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.healed:
		l.healed = make(chan struct{})
	default: // the line is cut already
	}
}

// heal lets waiting data pass, or breaks all connections.
func (l *line) heal(breaks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if breaks {
			c.Close()
		}
	}
	select {
	case <-l.healed:
	default:
		close(l.healed)
	}
}

func (l *line) end() {
	l.listener.Close()
	l.heal(true)
	l.under.Wait()
}

// replica is a process that is started again whenever it ends.
type replica struct {
	dir   string
	size  chaosSize
	lines []*line // to PostgreSQL, to the helper, from its callers, from other replicas

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
		r.run.Env = append(os.Environ(), replicaFolder+"="+r.dir,
			replicaSize+"="+string(must(json.Marshal(r.size))))
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

func (r *replica) process() *os.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.Process
}

func (r *replica) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.signal(syscall.SIGCONT)
	r.signal(syscall.SIGKILL)
}

// goes ends a replica and does not start it again.
func (r *replica) goes() {
	r.end()
	for _, l := range r.lines {
		l.end()
	}
}

// tooLate are the effects after which a replica writes to the ledger, the store or the shares.
var tooLate = []string{"before ledger", "after ledger", "after verdict stored"}

// chaos holds the parts that are broken, and the parties that must notice nothing.
type chaos struct {
	*testing.T
	chaosSize
	top        string          // the folder of all replicas
	dir        string          // the folder that they are copies of
	alone      string          // the configuration in dir, which names no replica
	under      *sync.WaitGroup // for all processes and goroutines
	pair       *testserver.Pair
	helper     *keptHelper
	replicas   []*replica
	all        []*replica // all that were ever started, also the ended ones
	identities map[string]protocol.Identity
	addresses  string // addresses of the first three replicas
	roster     []study.PartyID
	pool       []byte

	mu       sync.Mutex
	sent     map[study.Hash]map[study.PartyID][]byte // each party keeps its body
	again    int                                     // contributions that were sent again
	releases map[study.Hash]protocol.SignedRelease
	away     int // replicas that are paused or cut off
	last     string
	gaps     map[string][]time.Duration // how long nobody led, by what broke last

	answered atomic.Int64 // calls of the operator
}

func (c *chaos) dial(name string) *admin.Client {
	c.mu.Lock()
	id := c.identities[name]
	c.mu.Unlock()
	// a thousand parties that dial at once take turns
	patience := 2*time.Second + time.Duration(c.Parties)*10*time.Millisecond
	return must(admin.Dial(id, protocol.DialOptions{Timeout: patience}))
}

// follows dials the addresses that the coordinator sent, if they are new, as agents do.
func (c *chaos) follows(client *admin.Client, name string, l protocol.Listing) *admin.Client {
	c.mu.Lock()
	next, news := c.identities[name].WithKeys(client.Keys(), l.Addresses)
	c.identities[name] = next
	c.mu.Unlock()
	if !news {
		return client
	}
	client.Close()
	return c.dial(name)
}

// join starts one more replica. The replica gets the address of one other, and all learn of the new
// one.
func (c *chaos) join() *replica {
	r := &replica{dir: filepath.Join(c.top, fmt.Sprint(len(c.all)), "coordinator"),
		size: c.chaosSize}
	copyFolder(r.dir, c.dir)
	for _, end := range []string{".head", ".shares.head"} {
		must(0, os.WriteFile(r.dir+end, must(os.ReadFile(c.dir+end)), 0o600))
	}
	config := must(folder.LoadConfig(filepath.Join(c.dir, folder.ConfigFile)))
	socket := must(url.Parse(c.pair.Address())).Query().Get("host")
	listen, gossip := free(), free()
	r.lines = []*line{
		newLine("unix", filepath.Join(filepath.Dir(r.dir), ".s.PGSQL.5432"), "unix",
			filepath.Join(socket, ".s.PGSQL.5432")),
		newLine("tcp", "127.0.0.1:0", "tcp", config.Helper.Address),
		newLine("tcp", "127.0.0.1:0", "tcp", listen),
		newLine("tcp", "127.0.0.1:0", "tcp", gossip),
	}
	at := func(i int) string { return r.lines[i].listener.Addr().String() }
	knows := at(3)
	if len(c.replicas) > 0 {
		knows = c.replicas[0].lines[3].listener.Addr().String()
	}
	text := strings.NewReplacer("127.0.0.1:0", listen, config.Helper.Address, at(1), socket,
		filepath.Dir(r.dir)).Replace(c.alone)
	text += fmt.Sprintf("\naddress: %s\nreplicas: {listen: %q, advertise: %q, join: [%q]}\n", at(2),
		gossip, at(3), knows)
	must(0, os.WriteFile(filepath.Join(r.dir, folder.ConfigFile), []byte(text), 0o600))
	c.replicas, c.all = append(c.replicas, r), append(c.all, r)
	c.under.Go(r.live)
	return r
}

// without takes a replica away for a while, unless no other one is left.
func (c *chaos) without(take, give func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away == len(c.replicas)-1 {
		return false
	}
	c.away++
	take()
	time.AfterFunc(rand.N(c.Pause), func() {
		give()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.away--
	})
	return true
}

// outlived stops a leader at an effect and ends the session of its lock, as PostgreSQL does after a
// while. Once another replica leads, the first one wakes. Its next write comes too late, so the
// process must end.
func (c *chaos) outlived(effect string) bool {
	var old *replica
	done := func(within time.Duration, fn func() bool) (done bool) {
		for until := time.Now().Add(within); !done &&
			time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
			done = fn()
		}
		return done
	}
	for _, r := range c.replicas {
		must(0, os.WriteFile(stopsAt(r.dir), []byte(effect), 0o600))
	}
	stopped := done(30*time.Second, func() bool {
		for _, r := range c.replicas {
			if os.Remove(stoppedAt(r.dir)) == nil {
				old = r
			}
		}
		return old != nil
	})
	for _, r := range c.replicas {
		_ = os.Remove(stopsAt(r.dir))
	}
	if !stopped {
		return false
	}
	was := old.process()
	defer was.Signal(syscall.SIGCONT)
	db := must(sql.Open("pgx", c.pair.Address()))
	defer db.Close()
	epoch := func() (n int64) {
		must(0, db.QueryRow("SELECT epoch FROM caucus.lease").Scan(&n))
		return n
	}
	before := epoch()
	// "Caul", a leader's lock
	must(db.Exec("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = x'4361756c'::int AND granted"))
	if !done(20*time.Second, func() bool { return epoch() > before }) {
		return false // the others are away too
	}
	_ = was.Signal(syscall.SIGCONT)
	if !done(time.Minute, func() bool { return old.process() != was }) {
		c.Errorf("a leader that was stopped at %q goes on, and another one leads", effect)
	}
	return true
}

// breaks makes random faults, mostly when a leader answers, and counts them by kind.
func (c *chaos) breaks() map[string]int {
	broke := map[string]int{}
	for until := time.Now().Add(15 * time.Minute); broke["leader outlived"] < len(tooLate); {
		if effect := tooLate[broke["leader outlived"]]; c.outlived(effect) {
			broke["leader outlived"]++
		} else if time.Now().After(until) {
			c.Errorf("no leader came to %q", effect)
			break
		}
	}
	begun, n := time.Now(), 0
	for ; time.Since(begun) < c.Lasts || n < c.Faults; n++ {
		if n == c.Faults/2 { // a fourth replica joins, and one is replaced
			c.join()
			broke["a fourth joined"]++
			c.mu.Lock()
			old := c.replicas[1]
			c.replicas = slices.Delete(c.replicas, 1, 2)
			c.mu.Unlock()
			old.goes()
			c.join()
			broke["replica replaced"]++
		}
		time.Sleep(time.Duration(200+rand.IntN(1300)) * time.Millisecond)
		r := c.replicas[rand.IntN(len(c.replicas))]
		what := []string{"replica killed", "replica killed", "replica paused", "replica cut off",
			"replica without PostgreSQL", "PostgreSQL frozen", "standby killed", "primary killed",
			"helper killed", "leader outlived"}[rand.IntN(10)]
		switch what {
		case "leader outlived":
			if !c.outlived(tooLate[rand.IntN(len(tooLate))]) {
				continue
			}
		case "replica killed":
			r.signal(syscall.SIGKILL)
		case "replica paused":
			if !c.without(func() {
				r.signal(syscall.SIGSTOP)
			}, func() { r.signal(syscall.SIGCONT) }) {
				continue
			}
		case "replica cut off", "replica without PostgreSQL":
			lines := r.lines
			if what != "replica cut off" {
				lines = lines[:1]
			}
			breaks := rand.IntN(2) == 0
			each := func(do func(*line)) func() {
				return func() {
					for _, l := range lines {
						do(l)
					}
				}
			}
			if !c.without(each((*line).cut), each(func(l *line) { l.heal(breaks) })) {
				continue
			}
		case "PostgreSQL frozen":
			c.pair.Primary.Freeze(min(c.Pause, 2*time.Second))
		case "standby killed":
			c.pair.Standby.Kill()
			time.Sleep(200 * time.Millisecond)
			c.pair.Standby.Start()
		case "primary killed":
			c.pair.Primary.Kill()
			time.Sleep(200 * time.Millisecond)
			c.pair.Primary.Start()
		case "helper killed":
			c.helper.kill()
		}
		broke[what]++
		c.mu.Lock()
		c.last = what
		c.mu.Unlock()
		if from := c.answered.Load(); rand.IntN(4) > 0 {
			for waits := time.Now(); c.answered.Load() < from+25 &&
				time.Since(waits) < 30*time.Second; {
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	time.Sleep(c.Pause) // absent replicas are back by then
	return broke
}

// body is a party's contribution to a study: the same bytes each time.
func (c *chaos) body(client *admin.Client, s protocol.Summary, i int) ([]byte, error) {
	c.mu.Lock()
	had := c.sent[s.Hash][c.roster[i]]
	c.mu.Unlock()
	if had != nil {
		return had, nil
	}
	body := ballotFor(i, c.Parties)
	if strings.HasPrefix(s.Name, "shared") {
		whole, err := client.Study(context.Background(), s.Hash.String())
		if err != nil {
			return nil, err
		}
		task := must(newStudyChecker(whole.Plan, c.pool)).task
		sealing := must(server.LoadSealingKey(filepath.Join(c.helper.dir,
			"sealing.key"))).Public()
		body = must(uploading.Contribute(task, c.roster[i], inputs(task, i),
			uploading.Agreement{Sealing: sealing, Acceptance: whole.Helper.Digest()}))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent[s.Hash] == nil {
		c.sent[s.Hash] = map[study.PartyID][]byte{}
	}
	c.sent[s.Hash][c.roster[i]] = body
	return body, nil
}

// takesPart is a party that contributes to every study in which it has not yet, and reads every
// release.
func (c *chaos) takesPart(i int, over chan struct{}) {
	name := string(c.roster[i])
	client := c.dial(name)
	defer func() { client.Close() }()
	ctx, read := context.Background(), map[study.Hash]bool{}
	for {
		select {
		case <-over:
			return
		case <-time.After(c.Polls/2 + rand.N(c.Polls)):
		}
		list, err := client.Studies(ctx)
		if err == nil {
			client = c.follows(client, name, list)
		}
		for _, s := range list.Studies {
			if err == nil && (s.State == study.Open && !s.CallerContributed || s.CallerLost) {
				var body []byte
				if body, err = c.body(client, s, i); err == nil {
					_, err = client.Contribute(ctx, s.Hash, body)
				}
				if err == nil && s.CallerLost {
					c.mu.Lock()
					c.again++
					c.mu.Unlock()
				}
			}
			if err == nil && s.State == study.Released && !read[s.Hash] {
				var r protocol.SignedRelease
				if r, err = client.Release(ctx, s.Hash.String()); err == nil {
					read[s.Hash] = true
					c.mu.Lock()
					if had := c.releases[s.Hash]; had.Document != nil &&
						!bytes.Equal(had.Document, r.Document) {
						c.Errorf("study %s has two releases", s.Name)
					}
					c.releases[s.Hash] = r
					c.mu.Unlock()
				}
			}
		}
		if err != nil {
			_ = client.HangUp()
		}
	}
}

// TestChaos: three replicas run as processes, with a PostgreSQL that has a synchronous standby, a
// helper, and parties that repeat their contributions when asked. At random, replicas, both
// PostgreSQL servers and the helper are killed; replicas are paused, also within transactions, or
// cut off; and PostgreSQL is frozen. Leaders are stopped until another replica leads. A fourth
// replica joins, and one is replaced. No operator acts. Only the leader writes. Every study has one
// release, of all its parties; each ledger is charged once for each study; each sum is the sum of
// the ballots. The long test repeats all of this with a thousand parties, each with a certificate
// and a connection of its own.
//
//	CAUCUS_TEST=long go test ./coordinator -run TestChaos/1000 -v -timeout 60m
func TestChaos(t *testing.T) {
	t.Parallel()
	sizes := []chaosSize{{4, 4, 3 * time.Second, time.Second, 30 * time.Millisecond}}
	if testlevel.Long() {
		sizes = []chaosSize{{50, 10, 2 * time.Minute, 8 * time.Second, time.Second},
			{1000, 10, 0, 4 * time.Second, 5 * time.Second}}
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size.Parties), func(t *testing.T) { unharmed(t, size) })
	}
}

func unharmed(t *testing.T, size chaosSize) {
	ctx := context.Background()
	c := &chaos{T: t, chaosSize: size, identities: map[string]protocol.Identity{},
		sent:     map[study.Hash]map[study.PartyID][]byte{},
		releases: map[study.Hash]protocol.SignedRelease{}, gaps: map[string][]time.Duration{}}
	c.pair = testserver.NewPair(t)
	w := newSharedWorld(t, 0, nil)
	c.identities["operator"] = must(protocol.LoadIdentity(filepath.Join(w.config.Dir,
		folder.OperatorFile)))
	c.roster, c.pool = names(c.Parties), poolOf(c.Parties)
	slices.Sort(c.roster)
	for _, p := range c.roster {
		text, _, err := w.operator.Invite(ctx, admin.InviteOptions{Name: string(p)})
		must(0, err)
		c.identities[string(p)] = must(protocol.Enrol(ctx, must(protocol.ParseInvitation(text)),
			must(protocol.NewEnrolment()), protocol.DialOptions{}))
	}
	keys := w.server.keys
	w.stop()
	w.stopHelper()
	dir, second := w.copied(t)
	must(folder.MoveToPostgreSQL(ctx, dir, c.pair.Address()))
	db := must(sql.Open("pgx", c.pair.Address()))
	defer db.Close()
	must(db.Exec(witnessed))
	c.helper = keepHelper(t, second, "")
	c.dir, c.top = dir, must(os.MkdirTemp("", "chaos"))
	defer os.RemoveAll(c.top)
	c.alone = string(regexp.MustCompile(`(?m)^address:.*\n`).ReplaceAll(
		must(os.ReadFile(filepath.Join(dir, folder.ConfigFile))), nil))
	over, under := make(chan struct{}), sync.WaitGroup{}
	c.under = &under
	for range 3 {
		c.addresses += "," + c.join().lines[2].listener.Addr().String()
	}
	for name, id := range c.identities {
		id.Coordinator = c.addresses[1:]
		c.identities[name] = id
	}
	end := sync.OnceFunc(func() {
		close(over)
		for _, r := range c.replicas {
			r.goes()
		}
		under.Wait()
		c.helper.end()
	})
	defer end()
	for i := range c.roster {
		under.Go(func() { c.takesPart(i, over) })
	}

	// If no replica answers, none leads. When a thousand parties dial at once, their handshakes
	// come before the operator's, so the operator waits longer, as an agent would (4 s).
	turn := max(500*time.Millisecond, time.Duration(c.Parties)*4*time.Millisecond)
	under.Go(func() {
		client := c.dial("operator")
		defer func() { client.Close() }()
		for last, failed := time.Now(), false; ; {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			one, stop := context.WithTimeout(ctx, turn)
			list, err := client.Studies(one)
			if stop(); err != nil {
				failed = true
				_ = client.HangUp()
				continue
			}
			client = c.follows(client, "operator", list)
			if failed {
				c.mu.Lock()
				c.gaps[c.last] = append(c.gaps[c.last], time.Since(last))
				c.mu.Unlock()
			}
			c.answered.Add(1)
			last, failed = time.Now(), false
		}
	})
	done := make(chan map[string]int, 1)
	go func() { done <- c.breaks() }()
	operator := c.dial("operator")
	defer func() { operator.Close() }()
	persist := func(what string, fn func() error) {
		for until := time.Now().Add(c.Lasts + 15*time.Minute); ; time.Sleep(20 * time.Millisecond) {
			err := fn()
			if err == nil {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("%s: %v", what, err)
			}
			operator.Close()
			operator = c.dial("operator") // the operator may know other replicas by now
		}
	}
	var broke map[string]int
	plans := map[study.Hash]study.Plan{}
	persist("pool", func() error {
		return operator.UploadPool(ctx, planOf(c.roster, c.pool, time.Now()).Pool, c.pool)
	})
	for broke == nil {
		plan := planOf(c.roster, c.pool, time.Now().Add(time.Hour))
		plan.Name = fmt.Sprint("study", len(plans))
		if len(plans)%4 == 1 {
			plan.Name, plan.Noise = fmt.Sprint("shared", len(plans)), study.NoiseAggregators
			plan = withTerms(plan, c.pool)
		}
		text := must(plan.Canonical())
		plans[study.HashOf(text)] = plan
		persist("create", func() error {
			_, err := operator.CreateStudy(ctx, text, nil)
			return err
		})
		persist("open", func() error {
			_, err := operator.Open(ctx, plan.Name)
			if err != nil {
				if s, look := operator.Study(ctx, plan.Name); look == nil &&
					s.State != study.Draft {
					return nil
				}
			}
			return err
		})
		persist("release", func() error {
			s, err := operator.Study(ctx, plan.Name)
			if err == nil && s.State == study.Failed {
				t.Fatalf("%s failed: %s", plan.Name, s.Reason)
			}
			if err == nil && s.State != study.Released {
				err = fmt.Errorf("%s has %d contributions and is %s", plan.Name, s.Contributed,
					s.State)
			}
			return err
		})
		select {
		case broke = <-done:
		default:
		}
	}
	for until :=
		time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		read := len(c.releases)
		c.mu.Unlock()
		if read == len(plans) {
			break
		}
	}
	time.Sleep(3 * c.Polls) // time for the other parties to read the last release
	end()

	var strays string
	must(0, db.QueryRow("SELECT coalesce(string_agg(DISTINCT place, ', '), '') FROM witness.strays").Scan(&strays))
	if strays != "" {
		t.Errorf("a process that led no more wrote to %s", strays)
	}
	stores := must(folder.OpenStores(must(folder.LoadConfig(filepath.Join(dir,
		folder.ConfigFile)))))
	defer stores.Close()
	if n := must(privacy.Verify(ctx,
		stores.Journal))[privacy.Party].Charges; n != int64(len(plans)) {
		t.Errorf("%d charges of %d studies", n, len(plans))
	}
	shared := 0
	for h, plan := range plans {
		r := c.releases[h]
		if r.Release.Parties != c.Parties {
			t.Errorf("%s has a release of %d parties", plan.Name, r.Release.Parties)
		}
		if plan.Noise == study.NoiseAggregators {
			shared++
		}
		for _, f := range verify.Release(r,
			verify.VerifierInputs{Pool: poolUnder(plan, c.pool), Keys: &keys, KeysFrom: "test"}) {
			if f.Verdict == evidence.Fails {
				t.Errorf("%s: %s: %s", plan.Name, f.Subject, f.Text)
			}
		}
	}
	helpers := must(journal.OpenSQLite(filepath.Join(second, folder.LedgerFile)))
	defer helpers.Close()
	if n := must(privacy.Verify(ctx, helpers))[privacy.Party].Charges; n != int64(shared) {
		t.Errorf("the helper has %d charges of %d studies", n, shared)
	}
	var bodies [][]byte
	for i := range c.roster {
		bodies = append(bodies, ballotFor(i, c.Parties))
	}
	want, sums := hex.EncodeToString(sumOf(planOf(c.roster, c.pool, time.Now()), c.pool, bodies)), 0
	for _, r := range c.all {
		text, _ := os.ReadFile(filepath.Join(r.dir, "sums"))
		for _, sum := range strings.Fields(string(text)) {
			if sums++; sum != want {
				t.Errorf("the sum is %s, the ballots' is %s", sum, want)
			}
		}
	}
	if sums < len(plans)-shared {
		t.Errorf("%d sums of %d studies", sums, len(plans)-shared)
	}
	paused := 0
	for _, r := range c.all {
		text, _ := os.ReadFile(filepath.Join(r.dir, "log"))
		paused += bytes.Count(text, []byte("msg=paused"))
	}
	t.Logf("%d studies, %d of them with a helper, of %d parties; %v, paused at an effect %d; "+
		"%d contributions sent again", len(plans), shared, c.Parties, broke, paused, c.again)
	var all []time.Duration
	say := func(what string, gaps []time.Duration) {
		if slices.Sort(gaps); len(gaps) > 0 {
			t.Logf("without a leader %d times%s: median %v, worst %v", len(gaps), what, gaps[len(gaps)/2].Round(time.Millisecond), gaps[len(gaps)-1].Round(time.Millisecond))
		}
	}
	for what, gaps := range c.gaps {
		all = append(all, gaps...)
		say(" after "+what, gaps)
	}
	say("", all)
}
