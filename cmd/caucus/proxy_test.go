package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// proxy starts a proxy for CONNECT, as sites have, and sets HTTPS_PROXY. The proxy alone knows the
// name HOST, as this machine. "proxy used" fails if no connection went through the proxy.
func proxy() func(*testscript.TestScript, bool, []string) {
	var passed atomic.Int64
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 1 {
			ts.Fatalf("usage: proxy HOST, or [!] proxy used")
		}
		if args[0] == "used" {
			if used := passed.Load() > 0; used == neg {
				ts.Fatalf("%d connections went through the proxy", passed.Load())
			}
			return
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Defer(func() { l.Close() })
		ts.Setenv("HTTPS_PROXY", "http://"+l.Addr().String())
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					in := bufio.NewReader(c)
					r, err := http.ReadRequest(in)
					if err != nil || r.Method != http.MethodConnect {
						return
					}
					to, err := net.Dial("tcp", strings.Replace(r.Host, args[0], "127.0.0.1", 1))
					if err != nil {
						return
					}
					defer to.Close()
					passed.Add(1)
					io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
					go func() { io.Copy(to, in); to.Close() }()
					io.Copy(c, to)
				}()
			}
		}()
	}
}
