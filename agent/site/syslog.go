//go:build !windows && !plan9

package site

import (
	"fmt"
	"io"
	"log/syslog"
)

// dialSyslog uses the facility for authorizations, because the lines are decisions about data.
func dialSyslog(where string) (io.WriteCloser, error) {
	network, address := "unixgram", where
	if where == "local" {
		network, address = "", ""
	}
	w, err := syslog.Dial(network, address, syslog.LOG_INFO|syslog.LOG_AUTHPRIV, "caucus-agent")
	if err != nil {
		return nil, fmt.Errorf("audit: syslog: %s: %w: start it, or correct the key", where, err)
	}
	return w, nil
}
