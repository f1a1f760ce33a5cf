package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/verify"
)

// reportPages are the templates of every page that is a file.
//
//go:embed report.html
var reportPages string

func pages() (*template.Template, error) {
	return template.New("pages").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(webpage.Style) }, // our own
		"percent": func(v any) string {
			if p, ok := v.(*float64); ok {
				return fmt.Sprintf("%.1f %%", 100**p)
			}
			return fmt.Sprintf("%.1f %%", 100*v.(float64))
		},
		"short": func(v any) string { return fmt.Sprint(v)[:12] },
		"number": func(v any) string {
			switch v := v.(type) {
			case float64:
				return strconv.FormatFloat(v, 'g', 3, 64)
			case *float64:
				return strconv.FormatFloat(*v, 'g', 3, 64)
			}
			return fmt.Sprint(v)
		},
	}).Parse(reportPages)
}

type releasePage struct {
	Title, Answer string
	// Failed findings stand in place of the answer.
	Failed []verify.Finding
	// OtherPool says, before the answer, that the given pool is not the study's.
	OtherPool string
	// Simulated: no party took part and nothing is protected; the page says so first.
	Simulated        bool
	Warnings         []string
	Charts           []*dots
	Curves           []*curves
	Numbers          string
	Lines            []study.ReportLine
	Tables           []pageTable
	Parties, More    int
	Contributed      []study.PartyID
	Missing          []study.PartyID
	Guarantee        string
	Removal          string
	NotProtected     []string
	Unit             privacy.Unit
	Costs            []study.ReleaseCost
	Totals           []study.UnitTotal
	Findings         []foundGroup
	NotVerified      string
	Study, Kind      string
	Mechanism, Plan  string
	Command, Version string
}

// pageTable labels each cell with its column, shown beside it on a phone.
type pageTable struct {
	Title string
	Head  []string
	Rows  [][]pageCell
}

// Long folds a table: on a telephone each row is as long as it has columns.
func (t pageTable) Long() bool { return len(t.Rows) > mostOpenRows }

// Long folds a picture of many groups.
func (d *dots) Long() bool { return len(d.Rows) > mostOpenRows }

type pageCell struct{ Name, Text string }

// foundGroup are the findings of one verdict.
type foundGroup struct {
	Title, Class string
	All          []verify.Finding
}

// mostListed and mostTableRows bound the parties and rows shown.
const mostListed, mostTableRows = 60, 300

// mostOpenRows of a table show unfolded: about two screens.
const mostOpenRows = 40

// newReleasePage makes the page of a release, led by failed findings, then by measured if not
// nil. A release that does not hold is shown as far as it can be. html/template escapes a
// release's words.
func newReleasePage(r study.Release, measured *measurement, found []verify.Finding) (releasePage, error) {
	p, err := kinds.Usable(r)
	if err != nil {
		return releasePage{}, err
	}
	failed := verify.AnyFails(found)
	report, err := kinds.Report(r)
	if err != nil && !failed {
		return releasePage{}, err
	}
	readable := err == nil
	page := releasePage{
		Title: "What came out of " + p.Name, Answer: report.Answer, Warnings: r.Result.Warnings, Lines: report.Lines,
		Parties: r.Parties, Contributed: r.Contributed, Missing: r.Missing,
		Guarantee: guaranteeWords(p, r.Manifest), Removal: removalWords(p, r.Costs), NotProtected: r.NotProtected, Unit: p.Unit, Costs: r.Costs, Totals: r.Totals,
		NotVerified: "It was not verified here. caucus release verify recomputes all that it claims from the public pool.",
		Study:       p.Name, Kind: p.Kind, Mechanism: p.Mechanism, Plan: r.PlanHash.String(), Version: version(),
	}
	var drawn *study.ReportChart
	switch {
	case failed:
		page.Title = "What is said to have come out of " + p.Name
		page.Failed = slices.DeleteFunc(slices.Clone(found), func(f verify.Finding) bool { return f.Verdict != verify.Fails })
		page.Answer = fmt.Sprintf("Do not believe this release: %s: %s", page.Failed[0].About, page.Failed[0].Says)
	case measured != nil:
		page.Answer, drawn = measured.words(), measured.chart
	case page.Answer == "":
		page.Answer = fmt.Sprintf("%d parties contributed to this %s study; what it holds is below.", r.Parties, p.Kind)
	}
	if more := len(page.Contributed) - mostListed; more > 0 {
		page.Contributed, page.More = page.Contributed[:mostListed], more
	}
	if page.Simulated = p.Simulated; p.Simulated && !failed {
		page.Title = "What a simulation gave"
		if measured == nil {
			page.Answer = "Simulated: " + page.Answer
		}
		page.NotVerified = "There is nothing to verify: a simulation publishes nothing and protects nobody. caucus release verify refuses it."
	}
	for _, c := range append([]*study.ReportChart{drawn}, report.Charts...) {
		if d := newDots(c); d != nil {
			page.Charts = append(page.Charts, d)
		}
	}
	if p.Kind == "evaluate" && readable {
		e, err := evaluate.ResultOf(r)
		if err != nil {
			return releasePage{}, err
		}
		for _, c := range e.Classes {
			if drawn := newCurves(c); drawn != nil {
				page.Curves = append(page.Curves, drawn)
			}
		}
	}
	if c, ok := classifier.Of(r.Result); ok && readable {
		page.Numbers = "For each class it gives " + c.Output.Words() + "."
		if k := c.Calibration; k != nil {
			page.Numbers += fmt.Sprintf(" Scores were multiplied by %.2f (%.2f to %.2f with noise and sampling) to be probabilities.", k.Slope, k.Low, k.High)
		}
	}
	for _, t := range report.Tables {
		page.Tables = append(page.Tables, newPageTable(t))
	}
	for _, t := range verdictTitles {
		g := foundGroup{Title: t.title, Class: map[verify.Verdict]string{verify.Fails: "fails", verify.Holds: "holds"}[t.verdict]}
		for _, f := range found {
			if f.Verdict == t.verdict {
				g.All = append(g.All, f)
			}
		}
		if len(g.All) > 0 {
			page.Findings = append(page.Findings, g)
		}
	}
	return page, nil
}

func newPageTable(t study.ReportTable) pageTable {
	out := pageTable{Title: t.Title, Head: t.Head}
	if more := len(t.Rows) - mostTableRows; more > 0 {
		out.Title += fmt.Sprintf(" (%d further rows are in the release)", more)
		t.Rows = t.Rows[:mostTableRows]
	}
	for _, row := range t.Rows {
		var cells []pageCell
		for i, text := range row {
			cells = append(cells, pageCell{t.Head[min(i, len(t.Head)-1)], inCell(text)})
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// longWord bounds the letters that a cell keeps on one line.
const longWord = 32

// inCell lets a text break in a table: a number stays with its ±, and only a word too long for a
// column breaks inside.
func inCell(text string) string {
	var out strings.Builder
	letters := 0
	for _, r := range strings.ReplaceAll(text, " ± ", "\u00a0±\u00a0") {
		if letters++; r == ' ' {
			letters = 0
		} else if letters > longWord {
			out.WriteRune('\u200b')
			letters = 1
		}
		out.WriteRune(r)
	}
	return out.String()
}

// guaranteeWords explain a plan's guarantee without ε.
func guaranteeWords(p study.Plan, m study.Manifest) string {
	s := fmt.Sprintf("Whoever reads the release can hardly tell whether any one %s was another: the chance of any outcome changes by at most a factor %.3g", p.Unit, math.Exp(p.Epsilon))
	if p.Delta > 0 {
		s += fmt.Sprintf(", but for a chance of %g", p.Delta)
	}
	s += fmt.Sprintf(" (ε = %g, δ = %g).", p.Epsilon, p.Delta)
	if m.Neighbours != "" {
		s += " Compared are " + m.Neighbours + "."
	}
	return s + " " + p.Noise.Trust().Against
}

func (p releasePage) write(w io.Writer) error {
	t, err := pages()
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(plainWriter{w}, "release", p)
}

// file writes the page to a file; - is stdout.
func (p releasePage) file(c *console, name string) error {
	if name == "-" {
		return p.write(c.out)
	}
	return c.write(name, p.write)
}

// reportSimulated writes the page of a simulation's release and measurement, if a file is named.
func (c *console) reportSimulated(name string, r *study.Release, measured *measurement) error {
	if name == "" {
		return nil
	}
	if r == nil {
		return errors.New("--report: this simulation made no release to report")
	}
	page, err := newReleasePage(*r, measured, nil)
	if err != nil {
		return err
	}
	page.Command = commandLine(os.Args)
	if err := page.file(c, name); err != nil {
		return err
	}
	c.note("wrote %s", name)
	return nil
}

// commandLine quotes a process's arguments for a shell, without folders: the page is passed on,
// and folders are private.
func commandLine(args []string) string {
	words := []string{"caucus"}
	for _, arg := range args[min(1, len(args)):] {
		words = append(words, quoted(withoutFolders(arg)))
	}
	return strings.Join(words, " ")
}

// withoutFolders keeps the last name of a path: the whole argument, or the part after its first
// =, or each entry of a list and each of its words, as in a command. A path is absolute, or its
// folder exists.
func withoutFolders(arg string) string {
	if last, ok := lastName(arg); ok {
		return last
	}
	if name, value, ok := strings.Cut(arg, "="); ok && !strings.ContainsRune(name, ' ') {
		return name + "=" + withoutFolders(value)
	}
	if entries := strings.Split(arg, ","); len(entries) > 1 {
		for i := range entries {
			entries[i] = withoutFolders(entries[i])
		}
		return strings.Join(entries, ",")
	}
	words := strings.Split(arg, " ")
	for i, word := range words {
		if len(words) > 1 {
			words[i] = withoutFolders(word)
		} else if filepath.IsAbs(word) {
			words[i] = filepath.Base(word)
		}
	}
	return strings.Join(words, " ")
}

// lastName is that of a path whose folder exists.
func lastName(path string) (string, bool) {
	if !strings.ContainsRune(path, filepath.Separator) {
		return "", false
	}
	info, err := os.Stat(filepath.Dir(path))
	return filepath.Base(path), err == nil && info.IsDir()
}

// plainWord needs no quotes in a POSIX shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted quotes an argument for a POSIX shell.
func quoted(arg string) string {
	if plainWord.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

const reportFlagHelp = "write a page for people here: what came out, the guarantee, who took part (HTML, one file)"
