package main

import "io"

// quiet is a console without output.
func quiet() *console { return &console{out: io.Discard, err: io.Discard} }
