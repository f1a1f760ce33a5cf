//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// inLAN in the environment says that this process has a network of its own, which nobody else uses.
const inLAN = "CAUCUS_TEST_IN_LAN"

// lan is a network of virtual machines, made of Linux's network namespaces. Each replica has one,
// and so has PostgreSQL. The test's process is on the network too. Links can be cut and routes
// closed. All of it ends with the process's own namespace.
type lan struct {
	t    *testing.T
	pids map[string]int // of a process that holds each machine's namespace
}

// lanHosts are the machines' addresses.
var lanHosts = map[string]string{
	"one": "10.77.0.1", "two": "10.77.0.2", "three": "10.77.0.3", "pg": "10.77.0.5",
}

// inOwnLAN runs the calling test again, as a process with a network of its own, and shows what that
// one logs. It reports false if this system or user cannot have such a network, and true in the
// process that has it.
func inOwnLAN(t *testing.T) (here, ran bool) {
	if os.Getenv(inLAN) != "" {
		return true, false
	}
	if exec.Command("unshare", "-n", "unshare", "-n", "sh", "-ec", "ip link add lan type bridge; "+
		"ip link add one type veth peer name eth0; ip route; nsenter -V").Run() != nil {
		return false, false
	}
	args := []string{"-n", must(os.Executable()), "-test.run=^" + t.Name() + "$", "-test.v"}
	if until, bounded := t.Deadline(); bounded {
		args = append(args, fmt.Sprint("-test.timeout=", time.Until(until)))
	}
	inner := exec.Command("unshare", args...)
	inner.Env = append(os.Environ(), inLAN+"=1")
	out, err := inner.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if err != nil || strings.Contains(line, "_test.go:") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Errorf("in a network of its own: %v", err)
	}
	return false, true
}

func newLAN(t *testing.T) *lan {
	l := &lan{t: t, pids: map[string]int{}}
	l.ip("link set lo up; ip link add lan type bridge; ip addr add 10.77.0.254/24 dev lan; " +
		"ip link set lan up")
	for name, host := range lanHosts {
		holder := exec.Command("unshare", "-n", "sh", "-c", "echo; exec cat")
		// it ends with its input, and so with this process
		held, ready := must(holder.StdinPipe()), must(holder.StdoutPipe())
		must(0, holder.Start())
		t.Cleanup(func() { held.Close(); _ = holder.Wait() })
		must(ready.Read(make([]byte, 1)))
		l.pids[name] = holder.Process.Pid
		l.ip(fmt.Sprintf("link add v%s type veth peer name eth0 netns %d; "+
			"ip link set v%[1]s master lan up", name, l.pids[name]))
		l.run(l.on(name) + fmt.Sprintf("sh -c 'ip link set lo up; ip addr add %s/24 dev eth0; "+
			"ip link set eth0 up'", host))
	}
	return l
}

// on returns the words that make bash run a command on a machine. They replace the process by exec,
// so the process number stays.
func (l *lan) on(name string) string { return fmt.Sprintf("nsenter -t %d -n ", l.pids[name]) }

func (l *lan) run(command string) {
	if out, err := exec.Command("bash", "-c", command).CombinedOutput(); err != nil {
		l.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func (l *lan) ip(arguments string) { l.run("set -e; ip " + arguments) }

// link takes a machine's link down or up.
func (l *lan) link(name, how string) { l.ip("link set v" + name + " " + how) }

// road closes (add) or opens (del) the road from one machine to another, in this direction.
func (l *lan) road(how, from, to string) {
	l.run(l.on(from) + "ip route " + how + " blackhole " + lanHosts[to] + "/32")
}

// spread gives each replica of the page's commands, and PostgreSQL, its machine's address. The page
// names the ports of three replicas for agents, then those for each other.
func (l *lan) spread(commands string) string {
	commands = strings.ReplaceAll(commands, "caucus@localhost:", "caucus@"+lanHosts["pg"]+":")
	commands = strings.ReplaceAll(commands, ",localhost:", ","+lanHosts["pg"]+":")
	owners := map[string]string{}
	commands = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllStringFunc(commands,
		func(at string) string {
			if owners[at] == "" {
				owners[at] = replicaNames[len(owners)%3]
			}
			return strings.Replace(at, "127.0.0.1", lanHosts[owners[at]], 1)
		})
	return strings.Replace(commands, "\n", `
echo "listen_addresses = '*'" >>primary/postgresql.conf
echo "host all all 10.77.0.0/24 trust" >>primary/pg_hba.conf
`, 1)
}

// functions returns a function of bash that is called instead of caucus, and runs each replica on
// its own machine.
func (l *lan) functions() string {
	cases := ""
	for _, name := range replicaNames[:3] {
		cases += fmt.Sprintf("run:%s/*) exec %scaucus \"$@\";;\n", name, l.on(name))
	}
	return "caucus() { case \"$2:$4\" in\n" + cases + "esac; command caucus \"$@\"; }\n"
}
