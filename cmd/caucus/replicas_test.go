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

// TestThreeReplicas runs the ten commands of docs/operator.md, from one machine to three, as they
// stand there apart from ports, and the one that adds a fourth replica. Then the leader is paused,
// and the next one killed, and another answers each time.
func TestThreeReplicas(t *testing.T) {
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(programs) == 0 {
		t.Skip("PostgreSQL is not there: apt-get install postgresql")
	}
	t.Parallel()
	page := string(must(os.ReadFile(filepath.Join("..", "..", "docs", "operator.md"))))
	_, page, _ = strings.Cut(page, "### From one machine to three")
	_, page, _ = strings.Cut(page, "```sh\n")
	commands, page, _ := strings.Cut(page, "```")
	_, page, _ = strings.Cut(page, "```sh\n")
	fourth, _, _ := strings.Cut(page, "```")
	if n := strings.Count(commands, "\n"); n != 10 {
		t.Fatalf("the page has %d commands", n)
	}
	ports := map[string]string{}
	const between = "\n#\n"
	commands = regexp.MustCompile(`\b(54|74|75)\d\d\b`).ReplaceAllStringFunc(commands+between+fourth, func(port string) string {
		if ports[port] == "" {
			ports[port] = must(testlevel.FreePort())
		}
		return ports[port]
	})
	commands, fourth, _ = strings.Cut(commands, between)
	all := []string{"one", "two", "three", "four"}
	dir := must(os.MkdirTemp("", "three"))
	defer os.RemoveAll(dir)
	must(0, os.Chmod(dir, 0o777))
	head := "set -e\n"
	for _, name := range []string{"initdb", "pg_ctl", "createdb", "pg_basebackup"} {
		run := filepath.Join(programs[len(programs)-1], name)
		if _, err := user.Lookup("postgres"); err == nil && os.Getuid() == 0 { // initdb refuses root
			run = "setpriv --reuid=postgres --regid=postgres --clear-groups " + run
		}
		head += fmt.Sprintf("%s() { %s \"$@\"; }\n", name, run)
	}
	pid := func(words ...string) int {
		text, _ := os.ReadFile(filepath.Join(append([]string{dir}, words...)...))
		first, _, _ := strings.Cut(string(text), "\n")
		return must(strconv.Atoi("0" + first))
	}
	end := func(pid int, how syscall.Signal) {
		if pid > 0 {
			_ = syscall.Kill(pid, how)
		}
	}
	defer func() {
		for _, name := range all {
			end(pid(name, "pid"), syscall.SIGKILL)
		}
		for _, name := range []string{"standby", "primary"} {
			server := pid(name, "postmaster.pid")
			for end(server, syscall.SIGQUIT); server > 0 && syscall.Kill(server, 0) == nil; {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
	said := must(os.Create(filepath.Join(dir, "said")))
	defer said.Close()
	run := func(commands string) {
		script := exec.Command("bash", "-c", head+commands)
		script.Dir, script.Stdout, script.Stderr = dir, said, said
		if err := script.Run(); err != nil {
			t.Fatalf("%v\n%s", err, must(os.ReadFile(said.Name())))
		}
	}
	run(commands)
	members := func() (all []cluster.Member) {
		out, _ := exec.Command("caucus", "coordinator", "members", "--dir", filepath.Join(dir, "two", "coordinator"), "--json").Output()
		_ = json.Unmarshal(out, &all)
		return all
	}
	answers := func() {
		t.Helper()
		for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			list := exec.Command("caucus", "party", "list", "--profile", filepath.Join(dir, "one", "coordinator", "operator.yaml"))
			out, err := list.CombinedOutput()
			if err == nil {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("%v: %s\n%+v\n%s", err, out, members(), must(os.ReadFile(said.Name())))
			}
		}
	}
	answers()
	run(fourth)
	for until := time.Now().Add(time.Minute); len(members()) != 4; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the replicas are %+v\n%s", members(), must(os.ReadFile(said.Name())))
		}
	}
	led := map[string]bool{}
	for _, how := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		answers() // the operator's profile learns where the fourth is
		for _, name := range all {
			out, _ := os.ReadFile(filepath.Join(dir, name, "out"))
			if !led[name] && strings.Contains(string(out), "listening") {
				led[name] = true
				end(pid(name, "pid"), how)
				break
			}
		}
	}
	answers()
	if len(led) != 2 {
		t.Errorf("%v led", led)
	}
}
