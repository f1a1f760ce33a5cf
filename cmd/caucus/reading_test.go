package main

import (
	"io"

	"caucus/cmd/internal/console"
)

// quiet is a console without output.
func quiet() *console.Console { return &console.Console{Out: io.Discard, Err: io.Discard} }
