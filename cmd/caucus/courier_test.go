package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// fingerprint keeps a fingerprint of the last command's JSON in a variable, as one person
// reads it to another.
func fingerprint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fingerprint key variable")
	}
	var document map[string]string
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &document))
	if document[args[0]] == "" {
		ts.Fatalf("there is no %s", args[0])
	}
	ts.Setenv(args[1], document[args[0]])
}

// swapSealed makes a file of what one answer holds and another's signature: swap FROM
// SIGNED TO.
func swapSealed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: swap from signed to")
	}
	const part = "\nsealed "
	from, signed := []byte(ts.ReadFile(args[0])), []byte(ts.ReadFile(args[1]))
	made := append(signed[:bytes.Index(signed, []byte(part)):bytes.Index(signed, []byte(part))], from[bytes.Index(from, []byte(part)):]...)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), made, 0o600))
}

// cutFile writes all but the last 10 bytes of a file.
func cutFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut from to")
	}
	b := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b[:len(b)-10]), 0o600))
}
