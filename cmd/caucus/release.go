package main

import (
	"encoding/json"
	"fmt"
	"os"

	"caucus/protocol"
	"caucus/study"
)

// readSigned reads a release file with its signature, unchecked.
func readSigned(name string) (protocol.SignedRelease, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return protocol.SignedRelease{}, err
	}
	r, err := protocol.ReadRelease(b)
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// readRelease reads a release file to use what it holds.
func readRelease(name string) (study.Release, error) {
	r, err := readSigned(name)
	return r.Release, err
}

// writeSigned writes a release file: all that caucus verify needs beside the
// pool.
func writeSigned(name string, r protocol.SignedRelease) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(name, append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write release: %w", err)
	}
	return nil
}

// writeRelease writes a simulated release, which nobody signs.
func writeRelease(name string, r *study.Release) error {
	document, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write release: %w", err)
	}
	return writeSigned(name, protocol.SignedRelease{Document: document})
}
