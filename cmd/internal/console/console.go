package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"caucus/internal/textpage"
	"caucus/internal/webpage"
)

// Console is where a program speaks: results on Out, and on Err what is for people alone. With JSON
// a command writes exactly one document.
type Console struct {
	Out, Err io.Writer
	JSON     bool
	// Words, if not nil, puts the program's own names in place of those in all that it says.
	Words *strings.Replacer
	// inputs are the input files that are known so far, which the command must not overwrite.
	inputs []given
	// owned are the daemons' folders from which the command reads.
	owned []string
	// writing guards unfinished: the name of a file that write has begun and will rename.
	writing    sync.Mutex
	unfinished string
}

// WithVerbNames returns a writer to w of texts with the program's own names. Each Write is a whole
// text.
func (c *Console) WithVerbNames(w io.Writer) io.Writer {
	if c.Words == nil {
		return w
	}
	return worded{w, c.Words}
}

type worded struct {
	io.Writer
	words *strings.Replacer
}

// Write returns the length of b, although what it writes may have another.
func (w worded) Write(b []byte) (int, error) {
	if _, err := w.words.WriteString(w.Writer, string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Print writes the document as JSON with --json, and the text otherwise. Its error says that the
// output could not be written, as on a full disk.
func (c *Console) Print(document any, text func(io.Writer)) error {
	if !c.JSON {
		var b bytes.Buffer
		text(&b)
		_, err := c.WithVerbNames(c.Out).Write(b.Bytes())
		return err
	}
	e := json.NewEncoder(c.WithVerbNames(c.Out))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Say prints the document with --json, and the formatted text otherwise.
func (c *Console) Say(document any, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return c.Print(document, func(w io.Writer) {
		io.WriteString(w, text)
	})
}

// Note writes a line to stderr, for people, never into a document.
func (c *Console) Note(format string, args ...any) {
	fmt.Fprintf(textpage.PlainWriter{Writer: c.WithVerbNames(c.Err)}, format+"\n", args...)
}

// Logger returns a daemon's log on Err: lines of JSON with --json.
func (c *Console) Logger() *slog.Logger {
	if c.JSON {
		return slog.New(slog.NewJSONHandler(c.WithVerbNames(c.Err), nil))
	}
	return slog.New(slog.NewTextHandler(c.WithVerbNames(c.Err), nil))
}

// PrintLink makes a link to a daemon's page and prints it. The link is a secret until somebody
// opens it.
func (c *Console) PrintLink(dir, address string) error {
	link, err := webpage.NewLink(dir, address, time.Now())
	if err != nil {
		return err
	}
	if path, is := webpage.SocketPath(address); is {
		c.Note("opens once, within ten minutes, where the socket was carried to: ssh -L %s:%s HOST (localhost on the machine itself)", webpage.ForwardedAddress, path)
	} else {
		c.Note("opens once, within ten minutes, on this machine; elsewhere, carry the port over first: ssh -L %s:%s", address, address)
	}
	return c.Say(map[string]string{"link": link}, "%s\n", link)
}

// NonNil returns the list, or [] for nil, which JSON would write as null.
func NonNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
