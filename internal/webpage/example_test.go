package webpage_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"caucus/internal/webpage"
)

// A link is made in the daemon's folder, by someone who may write there, and names an address of
// this machine.
func Example() {
	dir, err := os.MkdirTemp("", "daemon")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	link, err := webpage.NewLink(dir, "127.0.0.1:9443", time.Now())
	if err != nil {
		panic(err)
	}
	address, token, _ := strings.Cut(link, "=")
	fmt.Println(address, len(token) > 40)
	_, err = webpage.NewLink(dir, "0.0.0.0:9443", time.Now())
	fmt.Println(err)
	// Output:
	// http://127.0.0.1:9443/open?link true
	// make link: "0.0.0.0:9443" is not a loopback address: there is no TLS; give 127.0.0.1:PORT, and carry the port to another machine with ssh -L
}
