// Package textpage writes text for a person at a terminal: lines with a name on the left and a text
// on the right. Even a hostile text stays on its line and moves no cursor (Printable).
package textpage
