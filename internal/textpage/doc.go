// Package textpage writes text for a person at a terminal: lines with a name at the left and a text at
// the right. Whoever wrote the text, each line stays one line and moves no cursor (Printable).
package textpage
