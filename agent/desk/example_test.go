package desk_test

import (
	"os"

	"caucus/agent/desk"
)

// A person at a terminal reads a study's progress and what it waits for.
func Example() {
	review := desk.Review{Study: "illness", Progress: desk.ProgressWaiting,
		Purpose: "a test\nprotects     everything", NeedsPerson: true, Allowed: true}
	if err := firstLines(review); err != nil {
		panic(err)
	}
	// Output:
	// study        illness (0000000000000000)
	// progress     waiting for approval
	// purpose      a test\u000aprotects     everything
}

func firstLines(r desk.Review) error { return r.WriteText(&lines{left: 3}) }

type lines struct{ left int }

func (l *lines) Write(text []byte) (int, error) {
	for _, b := range text {
		if l.left > 0 {
			os.Stdout.Write([]byte{b})
		}
		if b == '\n' {
			l.left--
		}
	}
	return len(text), nil
}
