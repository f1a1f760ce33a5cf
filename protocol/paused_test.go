//go:build unix

package protocol

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"caucus/internal/testlevel"
	"caucus/protocol/pb"
	"caucus/study"
)

// forwardsFrom and forwardsTo are the environment variables that make the test binary a forwarder
// of connections, which stands for a replica that can be paused.
const forwardsFrom, forwardsTo = "PROTOCOL_TEST_FROM", "PROTOCOL_TEST_TO"

func TestMain(m *testing.M) {
	if from := os.Getenv(forwardsFrom); from != "" {
		forward(from, os.Getenv(forwardsTo))
		return
	}
	os.Exit(m.Run())
}

func forward(from, to string) {
	l := must(net.Listen("tcp", from))
	fmt.Println("listening")
	for {
		near := must(l.Accept())
		far := must(net.Dial("tcp", to))
		go io.Copy(far, near)
		go io.Copy(near, far)
	}
}

// replica starts a forwarder, which ends with the test.
func replica(t *testing.T, from, to string) *os.Process {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), forwardsFrom+"="+from, forwardsTo+"="+to)
	out := must(c.StdoutPipe())
	must(0, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	must(bufio.NewReader(out).ReadString('\n'))
	return c.Process
}

// leader is a coordinator that lists no study, after a while, and answers no contribution.
type leader struct {
	pb.UnimplementedStudiesServer
	takes time.Duration
}

func (l leader) List(context.Context, *pb.ListRequest) (*pb.ListReply, error) {
	time.Sleep(l.takes)
	return &pb.ListReply{UnixMillis: time.Now().UnixMilli()}, nil
}

func (l leader) Contribute(
	s grpc.ClientStreamingServer[pb.ContributeRequest, pb.Signed],
) error {
	<-s.Context().Done()
	return s.Context().Err()
}

// serve starts a leader, and returns its address and a client's identity.
func serve(t *testing.T, l leader) (string, Identity) {
	authority := newTestAuthority(time.Now())
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(authority.server())))
	pb.RegisterStudiesServer(server, l)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	id := authority.identity(listener.Addr().String(), "site", RoleParty, must(NewSigner()).Key())
	return listener.Addr().String(), id
}

// TestPausedLeader: an agent whose leading replica is paused (SIGSTOP) in the moment of a poll gets
// the list of studies from the next one within 6 s if that one leads at once, and within 4 s + 6 s
// if it leads only after 4.5 s, which is how long replicas took. Without a bound the list took
// 33 s. An upload to a paused replica fails within 20 s, so that the agent sends it to another.
func TestPausedLeader(t *testing.T) {
	for name, test := range map[string]struct {
		leads, within time.Duration
		call          func(*Client) error
		fails         bool
	}{
		"the next leads at once": {0, 6 * time.Second, poll, false},
		"the next leads later":   {4500 * time.Millisecond, 10 * time.Second, poll, false},
		"an upload": {0, 20 * time.Second, func(c *Client) error {
			_, err := c.Contribute(context.Background(), study.Hash{}, []byte("body"))
			return err
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, id := serve(t, leader{})
			one, two := must(testlevel.FreePort()), must(testlevel.FreePort())
			one, two = "127.0.0.1:"+one, "127.0.0.1:"+two
			paused := replica(t, one, at)
			c := must(Dial(id, DialOptions{Coordinator: one + "," + two}))
			defer c.Close()
			if err := poll(c); err != nil {
				t.Fatal(err)
			}
			if test.fails { // in the midst of the upload
				time.AfterFunc(time.Second, func() { paused.Signal(syscall.SIGSTOP) })
			} else if err := paused.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			time.AfterFunc(test.leads, func() { replica(t, two, at) })
			err := test.call(c)
			if took := time.Since(begun); took > test.within || (err != nil) != test.fails {
				t.Errorf("%v after %v, want within %v", err, took, test.within)
			} else {
				t.Logf("%v after %v", err, took)
			}
			if err := poll(c); err != nil { // the agent's next
				t.Error(err)
			}
		})
	}
}

func poll(c *Client) error {
	_, err := c.Studies(context.Background())
	return err
}

// TestSlowLeader: a coordinator with one address may take longer for its list than one of several
// replicas, since there is no other to ask.
func TestSlowLeader(t *testing.T) {
	t.Parallel()
	at, id := serve(t, leader{takes: listTime + time.Second})
	c := must(Dial(id, DialOptions{Coordinator: at}))
	defer c.Close()
	if err := poll(c); err != nil {
		t.Error(err)
	}
}

// TestSlowReplicas: over a network on which a list takes longer than the first bound, the second or
// third question is answered; where no replica answers, the list ends with its time.
func TestSlowReplicas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		takes, timeout time.Duration
		fails          bool
	}{
		"slow":   {listTime + time.Second, 0, false},
		"silent": {time.Hour, 2 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, id := serve(t, leader{takes: test.takes})
			c := must(Dial(id, DialOptions{Coordinator: at + "," + at, Timeout: test.timeout}))
			defer c.Close()
			begun := time.Now()
			err := poll(c)
			if took := time.Since(begun); (err != nil) != test.fails || took > 25*time.Second {
				t.Errorf("%v after %v", err, took)
			}
		})
	}
}
