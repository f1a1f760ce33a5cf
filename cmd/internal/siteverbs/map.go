package siteverbs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/dataset/database"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
)

// MappingDraft is the JSON document of "caucus agent map".
type MappingDraft struct {
	Mapping       mapping.Mapping   `json:"mapping"`
	Assigned      map[string]string `json:"placed"`
	Unassigned    []string          `json:"unplaced"`
	UnusedColumns []string          `json:"idle"`
	Notes         []string          `json:"notes"`
	// Records counts all records of the file. Malformed counts those that are not rows of the
	// table, and FirstMalformed is the line or row number of the first one.
	Records        int `json:"records"`
	Malformed      int `json:"malformed,omitempty"`
	FirstMalformed int `json:"first_malformed,omitempty"`
}

func (a *Agent) mapFile() *cobra.Command {
	var schema, file, query, out string
	var how input.ReadOptions
	cmd := &cobra.Command{
		Use:   "map",
		Short: "Draft a mapping from a file's columns to a schema's",
		Long: `Read a file of the site, and draft a mapping from the file's columns to a schema's.
The draft goes by column names, by contents (numbers, dates, levels) and by common
synonyms. It also guesses encoding and delimiter. Quoted cells may hold line breaks.
Read the draft before you use it. The command lists schema columns without a match,
doubtful matches, and the number of records that are not rows of the table.

If no column of the file identifies patients, the draft says patient: none. Then each
record counts as one patient; if a patient has several records, the guarantee covers
each record, not the patient. If you know that no patient has several, write
patient: one-record.

With --query the records are the first 20,000 rows of the query of a source of the
configuration (data:), in place of a file's.

Where two readings fit, such as DD/MM/YYYY and MM/DD/YYYY, the draft takes neither,
and is no mapping until you write which one it is.

The command sends nothing and changes nothing. Its output shows texts of the file.`,
		Example: `  caucus agent map --schema schema.yaml --file export.csv --out mapping.yaml
  caucus agent map --schema schema.yaml --query ward --config agent.yaml`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if schema == "" || (file == "") == (query == "") {
				return console.Usagef("agent map needs --schema FILE, and --file FILE or --query SOURCE")
			}
			s, err := source.ReadSchema(schema)
			if err != nil {
				return err
			}
			m, err := how.Mapping(s.Format())
			if err != nil {
				return err
			}
			if how.MappingFile != "" {
				return console.Usagef("agent map drafts a mapping: leave --mapping out")
			}
			var read mapping.Sample
			var typed []string
			if query != "" {
				file = "the query of " + query
				read, typed, err = a.readQuery(cmd.Context(), query)
			} else {
				read, typed, err = input.ReadDetecting(a.Console, file, &m, s.AllColumns())
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			records := read.Records
			if n := read.Malformed; n > 0 && n == records {
				return fmt.Errorf("%s: none of %s is a row of %d cells: %s", file,
					textpage.Count(records, "record"), len(read.Columns), read.Remarks[0])
			}
			for _, remark := range read.Remarks {
				then := ""
				if remark.Problem == dataset.ProblemNotText {
					then = ": name the file's encoding, by --encoding or in the mapping"
				}
				a.Note("look at: %s%s", remark, then)
			}
			if n := read.Table.Rows(); n < records {
				a.Note("look at: the draft goes by %s of %s, spread over the file: its numbers of "+
					"cells are of these", textpage.Count(n, "record"), textpage.Count(records,
					"record"))
			}
			drafted := mapping.Suggest(read.Table, s, m, typed...)
			text, err := drafted.Mapping.YAML()
			if err != nil {
				return err
			}
			for _, note := range drafted.Notes {
				a.Note("look at: %s", note)
			}
			if len(drafted.Unassigned) > 0 {
				idle := "it has no unused column"
				if len(drafted.UnusedColumns) > 0 {
					idle = "its unused columns are " + strings.Join(drafted.UnusedColumns, ", ")
				}
				a.Note("not mapped: the schema's %s, because no column of the file fits by name and contents; %s", strings.Join(drafted.Unassigned, ", "), idle)
			}
			if out != "" {
				if err := a.WriteText(out, text); err != nil {
					return err
				}
			}
			doc := MappingDraft{
				drafted.Mapping, drafted.Assigned, append([]string{}, drafted.Unassigned...), append([]string{}, drafted.UnusedColumns...), append([]string{}, drafted.Notes...),
				records, read.Malformed, read.FirstMalformed,
			}
			return a.Print(doc, func(w io.Writer) {
				if out == "" {
					w.Write(text)
					return
				}
				for _, name := range slices.Sorted(maps.Keys(drafted.Assigned)) {
					fmt.Fprintf(w, "%s: %s\n", name, drafted.Assigned[name])
				}
				then := "read it, then name it in agent.yaml, under data:, as mapping: " + filepath.Base(out)
				empty := strings.TrimSpace(string(text)) == "{}"
				if empty && len(drafted.Unassigned) > 0 {
					then = "it is empty: write under columns where the schema's columns come from"
				} else if empty && len(drafted.Notes) > 0 {
					then = "it is empty: write there what is to look at, if it needs a change"
				} else if empty {
					then = "it is empty, since the file's columns are the schema's: no mapping is needed"
				}
				fmt.Fprintf(w, "wrote %s: %s\n", out, then)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&schema, "schema", "", "schema to map to")
	f.StringVar(&file, "file", "", "the site's file: CSV (also packed), Excel, Parquet")
	f.StringVar(&query, "query", "", "in place of --file: the source of the configuration "+
		"whose query is read")
	console.MarkInputs(f, "schema", "file")
	f.StringVar(&out, "out", "", "write the mapping to this file instead of stdout")
	console.MarkOutput(f, "out", console.AcceptsStdout, ".yaml", ".yml")
	how.Flags(f)
	return cmd
}

// readQuery reads the first rows of a source's query, in the session of its account.
func (a *Agent) readQuery(ctx context.Context, name string) (lines mapping.Sample,
	typed []string, err error) {
	config, err := site.LoadConfig(a.config)
	if err != nil {
		return lines, nil, err
	}
	q := config.Data[name].Query
	if q == (database.Query{}) {
		return lines, nil, fmt.Errorf("%s has no such source with a query: add it under "+
			"data", a.config)
	}
	rows, err := database.Open(ctx, q)
	if err != nil {
		return lines, nil, err
	}
	defer rows.Close()
	watched := mapping.WatchNumbers(rows)
	lines, err = mapping.ReadSample(dataset.FirstRows(watched, mapping.AdviceRecords))
	return lines, watched.NumberColumns(), err
}
