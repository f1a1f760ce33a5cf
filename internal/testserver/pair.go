//go:build unix

package testserver

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Pair is a PostgreSQL that a synchronous standby follows. Both end with their test.
type Pair struct {
	t                testing.TB
	folder, server   string
	settings         []string
	Primary, Standby *Node
}

// Node is one of a Pair's two servers.
type Node struct {
	pair *Pair
	data string
	port int
	run  *exec.Cmd
}

// NewPair starts both servers. They do not wait for their disks, unless a setting is fsync=on.
func NewPair(t testing.TB, settings ...string) *Pair {
	t.Helper()
	initdb, server, backup := program(t, "initdb", "postgresql"), program(t, "postgres",
		"postgresql"), program(t, "pg_basebackup", "postgresql-client")
	p := &Pair{t: t, folder: folderOf(t, "postgres"), server: server, settings: settings}
	p.Primary = &Node{pair: p, data: filepath.Join(p.folder, "primary"), port: 5432}
	p.Standby = &Node{pair: p, data: filepath.Join(p.folder, "standby"), port: 5433}
	done(t, as("postgres", initdb, "-D", p.Primary.data, "-U", "owner", "--auth=trust", "--no-sync",
		"--locale=C", "--encoding=UTF8"))
	p.Primary.Start()
	p.Do("CREATE DATABASE caucus")
	done(t, as("postgres", backup, "-h", p.folder, "-p", "5432", "-U", "owner", "-D",
		p.Standby.data, "--no-sync", "-c", "fast", "-X", "stream"))
	standby := fmt.Sprintf("primary_conninfo = 'host=%s port=5432 user=owner application_name=second'\nwal_retrieve_retry_interval = 500ms\n", p.folder)
	for name, text := range map[string]string{"postgresql.auto.conf": standby,
		"standby.signal": ""} {
		path := filepath.Join(p.Standby.data, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c := credential("postgres"); c != nil {
			_ = os.Chown(path, int(c.Uid), int(c.Gid))
		}
	}
	p.Standby.Start()
	p.Do("ALTER SYSTEM SET synchronous_standby_names = 'second'", "SELECT pg_reload_conf()")
	return p
}

// Address is the address of the database caucus on the primary.
func (p *Pair) Address() string { return p.address("caucus") }

func (p *Pair) address(database string) string {
	return fmt.Sprintf("postgres://owner@/%s?host=%s&port=5432", database, p.folder)
}

// Addresses is an address of the database caucus that finds the primary among both servers.
func (p *Pair) Addresses() string {
	return fmt.Sprintf("postgres://owner@/caucus?host=%s,%[1]s&port=5432,5433&target_session_attrs=read-write", p.folder)
}

// Promote makes the standby the primary.
func (p *Pair) Promote() {
	p.t.Helper()
	db, err := sql.Open("pgx", fmt.Sprintf("postgres://owner@/postgres?host=%s&port=5433",
		p.folder))
	if err == nil {
		_, err = db.Exec("SELECT pg_promote()")
		db.Close()
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// Do runs statements on the primary.
func (p *Pair) Do(all ...string) {
	p.t.Helper()
	db, err := sql.Open("pgx", p.address("postgres"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	for _, one := range all {
		if _, err := db.Exec(one); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Start starts a server and waits until it answers. After a kill it tries again until the remains
// of killed processes are gone.
func (n *Node) Start() {
	n.pair.t.Helper()
	var log bytes.Buffer
	for until :=
		time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		log.Reset()
		args := []string{"-D", n.data, "-k", n.pair.folder, "-p", fmt.Sprint(n.port)}
		for _, s := range append([]string{"listen_addresses=", "fsync=off",
			"wal_receiver_status_interval=1"}, n.pair.settings...) {
			args = append(args, "-c", s)
		}
		n.run = as("postgres", n.pair.server, args...)
		n.run.Stderr = &log
		if err := n.run.Start(); err != nil {
			n.pair.t.Fatal(err)
		}
		run, ended := n.run, make(chan bool)
		go func() { run.Wait(); close(ended) }()
		n.pair.t.Cleanup(func() { syscall.Kill(run.Process.Pid, syscall.SIGKILL) })
		for alive := true; alive; {
			db, err := sql.Open("pgx",
				fmt.Sprintf("postgres://owner@/postgres?host=%s&port=%d", n.pair.folder, n.port))
			if err == nil {
				err = db.Ping()
				db.Close()
			}
			if err == nil {
				return
			}
			select {
			case <-ended:
				alive = false
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	n.pair.t.Errorf("PostgreSQL does not start: %s", log.String())
}

// Freeze stops all processes of a server for a while, as a slow disk or a busy machine does.
func (n *Node) Freeze(d time.Duration) {
	parent := n.run.Process.Pid
	out, _ := exec.Command("ps", "-o", "pid=", "--ppid", fmt.Sprint(parent)).Output()
	all := []int{parent}
	for _, text := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(text); err == nil {
			all = append(all, pid)
		}
	}
	for _, pid := range all {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
	time.Sleep(d)
	for _, pid := range all {
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Kill ends a server as a loss of power does.
func (n *Node) Kill() { syscall.Kill(n.run.Process.Pid, syscall.SIGKILL) }
