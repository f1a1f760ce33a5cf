package main

import (
	"encoding/json"
	"fmt"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds/results"
)

// readRelease reads a release file for use, and does not check it.
func readRelease(name string) (study.Release, error) {
	r, err := input.ReadSigned(name)
	return r.Release, err
}

// usableRelease reads a release file for use and checks it against its plan.
func usableRelease(name string) (study.Release, study.Plan, error) {
	r, err := readRelease(name)
	if err != nil {
		return r, study.Plan{}, err
	}
	p, err := results.CheckedPlan(r)
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
