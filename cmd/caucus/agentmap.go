package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"caucus/dataset"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
)

// draftedMapping is the JSON document of agent map.
type draftedMapping struct {
	Mapping  mapping.Mapping   `json:"mapping"`
	Placed   map[string]string `json:"placed"`
	Unplaced []string          `json:"unplaced"`
	Idle     []string          `json:"idle"`
	Notes    []string          `json:"notes"`
}

func (a *agentCommand) mapFile() *cobra.Command {
	var schema, file, out string
	var how reading
	cmd := &cobra.Command{
		Use:   "map",
		Short: "Draft a mapping from a file's columns to a schema's",
		Long: `Read a file of the site and draft how its columns become those of a schema: by
their names, by what is in them (numbers, dates, levels) and by words that are
usual for the same thing. It guesses encoding and delimiter too. Read the draft:
what it could not place, and what it is not sure of, it says. It sends nothing and
changes nothing; what it says shows texts of the file.`,
		Example: "  caucus agent map --schema schema.yaml --file export.csv --out mapping.yaml",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if schema == "" || file == "" {
				return usagef("agent map needs --schema FILE and --file FILE")
			}
			s, err := readSchema(schema)
			if err != nil {
				return err
			}
			m, err := how.howTo(s.Format())
			if err != nil {
				return err
			}
			if how.mapping != "" {
				return usagef("agent map drafts a mapping: leave --mapping out")
			}
			table, err := readGuessing(a.console, file, &m)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			drafted := mapping.Suggest(table, s, m)
			text, err := drafted.Mapping.YAML()
			if err != nil {
				return err
			}
			for _, note := range drafted.Notes {
				a.note("look at: %s", note)
			}
			if len(drafted.Unplaced) > 0 {
				idle := "no column is left over"
				if len(drafted.Idle) > 0 {
					idle = "columns left over: " + strings.Join(drafted.Idle, ", ")
				}
				a.note("not placed: %s: nothing in the file was found for it; %s", strings.Join(drafted.Unplaced, ", "), idle)
			}
			if out != "" {
				if err := a.writeText(out, text); err != nil {
					return err
				}
			}
			doc := draftedMapping{drafted.Mapping, drafted.Placed, append([]string{}, drafted.Unplaced...), append([]string{}, drafted.Idle...), append([]string{}, drafted.Notes...)}
			return a.print(doc, func(w io.Writer) error {
				if out == "" {
					_, err := w.Write(text)
					return err
				}
				for _, name := range slices.Sorted(maps.Keys(drafted.Placed)) {
					fmt.Fprintf(w, "%s: %s\n", name, drafted.Placed[name])
				}
				_, err := fmt.Fprintf(w, "wrote %s: read it before you use it\n", out)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&schema, "schema", "", "schema whose columns are wanted")
	f.StringVar(&file, "file", "", "the site's file: CSV (also packed), Excel, Parquet")
	reads(f, "schema", "file")
	f.StringVar(&out, "out", "", "write the mapping to this file instead of stdout")
	writes(f, "out", asStdout, ".yaml", ".yml")
	how.flags(f)
	return cmd
}

// readGuessing reads a file, trying common encodings and delimiters unless one is named.
func readGuessing(c *console, name string, m *mapping.Mapping) (*dataset.Table, error) {
	rows, done, err := openRows(name, *m)
	var other *files.EncodingError
	if errors.As(err, &other) {
		m.Encoding = other.Probably
		c.note("look at: it is read as %s: look at its letters", m.Encoding)
		rows, done, err = openRows(name, *m)
	}
	if err != nil {
		return nil, err
	}
	if d, ok := dataset.LikelyDelimiter(rows.Columns()); ok && m.Delimiter == "" {
		done()
		m.Delimiter = string(d)
		if rows, done, err = openRows(name, *m); err != nil {
			return nil, err
		}
	}
	defer done()
	lines, err := dataset.Collect(rows)
	return lines.Table, err
}
