// Package textpage is about text for a person at a terminal: lines with a name at the left
// and what is said at the right. Whoever wrote a text, each line stays one line and moves
// no cursor (Printable).
package textpage
