package textpage

import (
	"fmt"
	"io"
	"strings"
)

// WriteWrapped writes a head and a text, wrapped at 88 columns. Later lines are indented.
func WriteWrapped(w io.Writer, head, text string) {
	const indent, width = 2, 88
	line := strings.Repeat(" ", indent) + head
	left := len([]rune(line))
	used := left
	for i, word := range strings.Fields(text) {
		if n := len([]rune(word)); i > 0 && used+1+n > width {
			fmt.Fprintln(w, line)
			line, used = strings.Repeat(" ", left), left
		} else if i > 0 {
			line += " "
			used++
		}
		line += word
		used += len([]rune(word))
	}
	fmt.Fprintln(w, line)
}
