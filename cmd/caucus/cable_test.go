package main

import (
	"io"
	"net"
	"sync"
	"time"
)

// cable is the address that agents dial: it leads to the coordinator and can be cut.
type cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	ends  map[net.Conn]bool
	until time.Time // the end of a cut
	under sync.WaitGroup
}

func newCable(to string) (*cable, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &cable{listener: l, to: to, ends: map[net.Conn]bool{}}
	c.under.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.under.Go(func() { c.carry(near) })
		}
	})
	return c, nil
}

func (c *cable) address() string { return c.listener.Addr().String() }

func (c *cable) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	cut := time.Now().Before(c.until)
	if !cut {
		c.ends[near], c.ends[far] = true, true
	}
	c.mu.Unlock()
	if cut {
		return
	}
	done := make(chan struct{}, 2)
	copyTo := func(to, from net.Conn) { _, _ = io.Copy(to, from); done <- struct{}{} }
	go copyTo(near, far)
	go copyTo(far, near)
	<-done
	near.Close()
	far.Close()
	<-done
	c.mu.Lock()
	delete(c.ends, near)
	delete(c.ends, far)
	c.mu.Unlock()
}

// cut ends all connections, and accepts none for a while.
func (c *cable) cut(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Now().Add(d)
	for e := range c.ends {
		e.Close()
	}
}

func (c *cable) end() {
	c.listener.Close()
	c.cut(0)
	c.under.Wait()
}
