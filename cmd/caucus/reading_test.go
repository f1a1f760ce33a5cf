package main

import "io"

// quiet is a console that nobody reads.
func quiet() *console { return &console{out: io.Discard, err: io.Discard} }
