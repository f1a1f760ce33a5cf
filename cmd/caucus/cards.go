package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"caucus/agent"
	"caucus/dataset"
)

// catalogued is a card, and what it lacks for a study.
type catalogued struct {
	agent.Card
	Lacks []string `json:"lacks,omitempty"`
}

func cards(c *console) *cobra.Command {
	var schema string
	cmd := &cobra.Command{
		Use:   "cards FILE|FOLDER…",
		Short: "List the cards that sites handed over of their sources",
		Long: `List cards of sources, from files or folders of them (*.yaml): who has which records,
how many, and under which label. With --schema it says which of them a study with that
schema could ask, and what the others lack.

Sites make cards with caucus agent source card. What is on a card is its site's word.`,
		Example: "  caucus party cards catalogue/ --schema readmission.schema.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("party cards needs files of cards, or a folder; see caucus party cards --help")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			paths, err := cardFiles(args)
			if err != nil {
				return err
			}
			var wanted *dataset.Schema
			if schema != "" {
				s, err := readSchema(schema)
				if err != nil {
					return err
				}
				wanted = &s
			}
			all := []catalogued{}
			for _, path := range paths {
				card, err := agent.ReadCard(path)
				if err != nil {
					return err
				}
				entry := catalogued{Card: card}
				if wanted != nil {
					entry.Lacks = card.Lacks(*wanted)
				}
				all = append(all, entry)
			}
			return c.print(all, func(w io.Writer) error { return printCards(w, all, wanted != nil) })
		},
	}
	cmd.Flags().StringVar(&schema, "schema", "", "a study's schema: say who has what it asks for")
	return cmd
}

// cardFiles are the files among names, and those of folders.
func cardFiles(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, name)
			continue
		}
		in, err := filepath.Glob(filepath.Join(name, "*.yaml"))
		if err != nil {
			return nil, err
		}
		if len(in) == 0 {
			return nil, fmt.Errorf("%s holds no cards: files that end in .yaml", name)
		}
		out = append(out, in...)
	}
	return out, nil
}

func printCards(w io.Writer, all []catalogued, wanted bool) error {
	header := []string{"party", "source", "records", "columns", "label"}
	if wanted {
		header = append(header, "for this schema")
	}
	t := newTable(w, header...)
	records, have := 0, 0
	for _, e := range all {
		label := ""
		if at := slices.IndexFunc(e.Columns, func(c agent.CardColumn) bool { return c.Label }); at >= 0 {
			label = e.Columns[at].Column + ": " + strings.Join(e.Columns[at].Codes, ", ")
		}
		row := []string{string(e.Party), e.Source, fmt.Sprint(e.Records), fmt.Sprint(len(e.Columns)), label}
		if wanted {
			row = append(row, lackWords(e.Lacks))
		}
		t.add(row...)
		if len(e.Lacks) == 0 {
			records += e.Records
			have++
		}
	}
	if err := t.render(); err != nil {
		return err
	}
	what := "all"
	if wanted {
		what = "those that have what it asks for"
	}
	_, err := fmt.Fprintf(w, "\n%d sources, %d records in %s\n", have, records, what)
	return err
}

// lackWords say what a card lacks, the first few of it.
func lackWords(lacks []string) string {
	const most = 3
	switch n := len(lacks); {
	case n == 0:
		return "yes"
	case n > most:
		return fmt.Sprintf("%s, and %d more", strings.Join(lacks[:most], ", "), n-most)
	}
	return strings.Join(lacks, ", ")
}
