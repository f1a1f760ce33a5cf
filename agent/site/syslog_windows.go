package site

import (
	"errors"
	"io"
)

func dialSyslog(string) (io.WriteCloser, error) {
	return nil, errors.New("audit: syslog: this system has none: leave the key out; the audit log is a file in the state folder")
}
