package main

import (
	"encoding/json"
	"fmt"
	"os"

	"caucus/cmd/internal/console"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds/results"
)

// mostWhole bounds the bytes of a file that is read into memory: one with tables of all sites has
// about 100 MB.
const mostWhole = 512 << 20

func readWhole(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.Size() > mostWhole {
		return nil, fmt.Errorf("%s has %d MB, and a release has at most %d: it is another file", name, info.Size()>>20, mostWhole>>20)
	}
	return os.ReadFile(name)
}

// readSigned reads a release file with its signature, and checks neither.
func readSigned(name string) (protocol.SignedRelease, error) {
	b, err := readWhole(name)
	if err != nil {
		return protocol.SignedRelease{}, err
	}
	r, err := protocol.ReadRelease(b)
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// readRelease reads a release file for use, and does not check it.
func readRelease(name string) (study.Release, error) {
	r, err := readSigned(name)
	return r.Release, err
}

// usableRelease reads a release file for use and checks it against its plan.
func usableRelease(name string) (study.Release, study.Plan, error) {
	r, err := readRelease(name)
	if err != nil {
		return r, study.Plan{}, err
	}
	p, err := results.Usable(r)
	if err != nil {
		return r, p, unusable(name, err)
	}
	return r, p, nil
}

func unusable(name string, err error) error {
	return fmt.Errorf("%s cannot be used: it was damaged or changed, or another version of caucus wrote it: fetch it again with caucus study result STUDY --out FILE (%v)", name, err)
}

// writeSigned writes a release file: everything that "caucus release verify" needs, except the
// pool.
func writeSigned(c *console.Console, name string, r protocol.SignedRelease) error {
	text, err := r.File()
	if err != nil {
		return err
	}
	return c.WriteText(name, text)
}

func writeRelease(c *console.Console, name string, r *study.Release) error {
	document, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write release: %w", err)
	}
	return writeSigned(c, name, protocol.SignedRelease{Document: document})
}
