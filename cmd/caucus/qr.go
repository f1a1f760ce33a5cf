package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"rsc.io/qr"

	"caucus/protocol"
)

// maxQR bounds what is read of a file that could become a QR code.
const maxQR = 1 << 20

func newQR(c *console) *cobra.Command {
	var out string
	var plain bool
	cmd := &cobra.Command{
		Use:   "qr FILE",
		Short: "Show a small carried file as a QR code, for a telephone or a scanner to carry",
		Long: `Show a file that is carried between a site and its coordinator (docs/courier.md) as a
QR code, where it has 2 KiB or less: a request, an enrolment, a receipt, an answer of a
few numbers. What a telephone or a scanner reads is one line of text that begins with
CAUCUS: and is given wherever the file would be, as a file that holds it or, as -, by
standard input. Invitations and join tokens are secrets, and are not shown so.`,
		Example: `  caucus qr st-mary.request
  caucus qr st-mary.receipt --out st-mary.png
  caucus party invite st-mary --request - --key 2hd5-… --out st-mary.enrolment`,
		Args: one("qr", "FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := readSmall(args[0])
			if err != nil {
				return err
			}
			text, err := protocol.Scannable(file)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			code, err := qr.Encode(text, qr.L)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if out != "" {
				picture, err := newSecret(out) // a new file: no other is overwritten
				if err != nil {
					return err
				}
				_, err = picture.Write(code.PNG())
				if err := errors.Join(err, picture.Close()); err != nil {
					return err
				}
			}
			document := struct {
				Text    string `json:"text"`
				Modules int    `json:"modules"`
				File    string `json:"file,omitempty"`
			}{text, code.Size, out}
			return c.print(document, func(w io.Writer) error {
				if out != "" {
					_, err := fmt.Fprintf(w, "wrote %s: %d by %d modules\n", out, code.Size, code.Size)
					return err
				}
				if plain {
					_, err := fmt.Fprintln(w, text)
					return err
				}
				c.note("%d columns: where a line is broken make the letters smaller, or give --out FILE.png", code.Size+2*margin)
				info, err := os.Stdout.Stat()
				return drawQR(w, code, err == nil && info.Mode()&os.ModeCharDevice != 0)
			})
		},
	}
	cmd.Flags().BoolVar(&plain, "text", false, "print the text that a scanner would read instead")
	cmd.Flags().StringVar(&out, "out", "", "write a picture (PNG) to this new file instead")
	writes(cmd.Flags(), "out", ".png")
	return cmd
}

func readSmall(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxQR))
}

// margin is how many light modules surround a code, by its standard.
const margin = 4

// drawQR draws two rows of modules as one of letters; on a terminal in its own black and
// white, so that it is dark on light whatever the terminal's colours are.
func drawQR(w io.Writer, code *qr.Code, colours bool) error {
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		if colours {
			b.WriteString("\x1b[38;5;16;48;5;231m")
		}
		for x := -margin; x < code.Size+margin; x++ {
			switch above, below := code.Black(x, y), code.Black(x, y+1); {
			case above && below:
				b.WriteString("█")
			case above:
				b.WriteString("▀")
			case below:
				b.WriteString("▄")
			default:
				b.WriteByte(' ')
			}
		}
		if colours {
			b.WriteString("\x1b[0m")
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
