//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"caucus/coordinator/cluster"
	"caucus/internal/testlevel"
)

// threeReplicas are the replicas that the ten commands of docs/operator.md make, as they stand
// there apart from ports, with their PostgreSQL. All end with the test.
type threeReplicas struct {
	t         *testing.T
	dir       string
	said      *os.File
	functions string // PostgreSQL's programs, for bash
	fourth    string // the command that adds a fourth one
	lan       *lan   // nil: all are on this machine's loopback network
}

var replicaNames = []string{"one", "two", "three", "four"}

// startThreeReplicas runs the ten commands. With a lan, each replica and PostgreSQL have their own
// machines.
func startThreeReplicas(t *testing.T, lan *lan) *threeReplicas {
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(programs) == 0 {
		t.Skip("PostgreSQL is not there: apt-get install postgresql")
	}
	r := &threeReplicas{t: t, dir: must(os.MkdirTemp("", "three")), functions: "set -e\n",
		lan: lan}
	t.Cleanup(r.end)
	page := string(must(os.ReadFile(filepath.Join("..", "..", "docs", "operator.md"))))
	_, page, _ = strings.Cut(page, "### From one machine to three")
	_, page, _ = strings.Cut(page, "```sh\n")
	commands, page, _ := strings.Cut(page, "```")
	_, page, _ = strings.Cut(page, "```sh\n")
	r.fourth, _, _ = strings.Cut(page, "```")
	if n := strings.Count(commands, "\n"); n != 10 {
		t.Fatalf("the page has %d commands", n)
	}
	ports := map[string]string{}
	free := func(port string) string {
		if ports[port] == "" {
			ports[port] = must(testlevel.FreePort())
		}
		return ports[port]
	}
	theirs := regexp.MustCompile(`\b(54|74|75)\d\d\b`)
	commands = theirs.ReplaceAllStringFunc(commands, free)
	r.fourth = theirs.ReplaceAllStringFunc(r.fourth, free)
	must(0, os.Chmod(r.dir, 0o777))
	for _, name := range []string{"initdb", "pg_ctl", "createdb", "pg_basebackup"} {
		run := filepath.Join(programs[len(programs)-1], name)
		// initdb refuses root
		if _, err := user.Lookup("postgres"); err == nil && os.Getuid() == 0 {
			run = "setpriv --reuid=postgres --regid=postgres --clear-groups " + run
		}
		if lan != nil {
			run = lan.on("pg") + run
		}
		r.functions += fmt.Sprintf("%s() { %s \"$@\"; }\n", name, run)
	}
	if lan != nil {
		commands = lan.spread(commands)
		r.functions += lan.functions()
	}
	r.said = must(os.Create(filepath.Join(r.dir, "said")))
	r.run(commands)
	return r
}

func (t *threeReplicas) run(commands string) {
	t.t.Helper()
	script := exec.Command("bash", "-c", t.functions+commands)
	script.Dir, script.Stdout, script.Stderr = t.dir, t.said, t.said
	if err := script.Run(); err != nil {
		t.t.Fatalf("%v\n%s", err, t.log())
	}
}

func (t *threeReplicas) log() string { return string(must(os.ReadFile(t.said.Name()))) }

// pid reads the number of a process from a file in the folder of a replica or of a PostgreSQL.
func (t *threeReplicas) pid(words ...string) int {
	text, _ := os.ReadFile(filepath.Join(append([]string{t.dir}, words...)...))
	first, _, _ := strings.Cut(string(text), "\n")
	return must(strconv.Atoi("0" + first))
}

func (t *threeReplicas) signal(pid int, how syscall.Signal) {
	if pid > 0 {
		_ = syscall.Kill(pid, how)
	}
}

func (t *threeReplicas) end() {
	for _, name := range replicaNames {
		t.signal(t.pid(name, "pid"), syscall.SIGKILL)
	}
	for _, name := range []string{"standby", "primary"} {
		server := t.pid(name, "postmaster.pid")
		for t.signal(server, syscall.SIGQUIT); server > 0 && syscall.Kill(server, 0) == nil; {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if t.said != nil {
		t.said.Close()
	}
	os.RemoveAll(t.dir)
}

// folder is the coordinator's folder of a replica.
func (t *threeReplicas) folder(name string) string {
	return filepath.Join(t.dir, name, "coordinator")
}

// members asks a replica for the members that it knows.
func (t *threeReplicas) members(name string) (all []cluster.Member) {
	out, _ := exec.Command("caucus", "coordinator", "members", "--dir", t.folder(name),
		"--json").Output()
	_ = json.Unmarshal(out, &all)
	return all
}

// answers waits until an operator's command succeeds.
func (t *threeReplicas) answers() {
	t.t.Helper()
	profile := filepath.Join(t.folder("one"), "operator.yaml")
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out, err := exec.Command("caucus", "party", "list", "--profile", profile).CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(until) {
			t.t.Fatalf("%v: %s\n%+v\n%s", err, out, t.members("two"), t.log())
		}
	}
}

// TestThreeReplicas runs the ten commands, and the one that adds a fourth replica. Then the leader
// is paused, and the next leader is killed. Each time another replica answers.
func TestThreeReplicas(t *testing.T) {
	t.Parallel()
	r := startThreeReplicas(t, nil)
	r.answers()
	r.run(r.fourth)
	for until := time.Now().Add(time.Minute); len(r.members("two")) !=
		4; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the replicas are %+v\n%s", r.members("two"), r.log())
		}
	}
	led := map[string]bool{}
	for _, how := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		r.answers() // the operator's profile learns where the fourth is
		for _, name := range replicaNames {
			out, _ := os.ReadFile(filepath.Join(r.dir, name, "out"))
			if !led[name] && strings.Contains(string(out), "listening") {
				led[name] = true
				r.signal(r.pid(name, "pid"), how)
				break
			}
		}
	}
	r.answers()
	if len(led) != 2 {
		t.Errorf("%v led", led)
	}
}
