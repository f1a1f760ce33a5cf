// Package console is about a program's console: its command line, what it says on stdout and
// stderr, and the files that it writes for people. The programs under cmd share it.
//
// Main runs a tree of verbs until a signal ends it, and turns an error into plain English and an
// exit code. A Console prints one document, as text or as JSON, and writes a file completely or not
// at all, never over what the command reads. MarkOutput and MarkInputs say of a verb's flags which
// they are, so that this is checked before any work.
//
// Read console.go, program.go, verbs.go, then writing.go.
package console
