package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// page is an experiment's Markdown page.
type page struct {
	folder string
	text   strings.Builder
}

func newPage(folder, title string) *page {
	p := &page{folder: folder}
	fmt.Fprintf(&p.text, "# %s\n\n", title)
	return p
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, strings.TrimRight(p.text.String(), "\n")+"\n")
	return err
}

func (p *page) section(title string) { fmt.Fprintf(&p.text, "## %s\n\n", title) }

func (p *page) paragraph(format string, args ...any) {
	fmt.Fprintf(&p.text, format+"\n\n", args...)
}

// table writes a table; cells may hold Markdown.
func (p *page) table(header []string, rows [][]string) {
	line := func(cells []string) {
		fmt.Fprintf(&p.text, "| %s |\n", strings.Join(cells, " | "))
	}
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, r := range rows {
		line(r)
	}
	p.text.WriteByte('\n')
}

// figure draws into NAME.svg beside the page and shows it.
func (p *page) figure(name string, f figure) error {
	if err := f.save(filepath.Join(p.folder, name+".svg")); err != nil {
		return fmt.Errorf("draw %s: %w", name, err)
	}
	p.paragraph("![%s](%s.svg)", f.Title, name)
	return nil
}

// provenance closes the page: how to make it again, and from what.
func (p *page) provenance(l *lab, command string, tasks []task, e experiment) error {
	p.section("How this was made")
	p.paragraph("```sh\n%s\n```", command)
	p.paragraph("Seed %d; %d tasks, each with a generator seeded by seed and key. All noise is simulated: these releases protect nobody. results.csv has one line a measurement and draw.", l.Seed, len(tasks))
	var rows [][]string
	for _, s := range l.loaded() {
		if s.err != nil || s.Train == nil {
			continue
		}
		test := "split off"
		if s.Test != nil {
			test = fmt.Sprint(s.Test.Len())
		}
		var digests []string
		for _, name := range slices.Sorted(maps.Keys(s.Digests)) {
			digests = append(digests, fmt.Sprintf("%s `%s`", name, s.Digests[name]))
		}
		rows = append(rows, []string{s.Name, fmt.Sprint(s.Train.Len()), test,
			fmt.Sprint(len(s.Schema.Classes())), s.Origin, strings.Join(digests, "<br>")})
	}
	if len(rows) > 0 {
		p.table([]string{"data", "records", "test records", "classes", "source",
			"SHA-256 of the files"}, rows)
	}
	return nil
}
