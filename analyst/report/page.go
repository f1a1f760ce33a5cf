package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"caucus/internal/textpage"
	"caucus/internal/webpage"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds/results"
	"caucus/study/verify/evidence"
)

// pages holds the templates of the pages that are written to files.
//
//go:embed pages.html
var pages string

// Template returns the templates that all pages share, together with own, the caller's templates.
// Those can call "head", which begins a page with a title, "dots", which shows Dots, and
// "curve", which shows a Figure.
func Template(own string) (*template.Template, error) {
	t := template.New("pages").Funcs(template.FuncMap{
		// the style is our own text
		"style": func() template.CSS { return template.CSS(webpage.Style) },
		"percent": func(v any) string {
			if p, ok := v.(*float64); ok {
				return fmt.Sprintf("%.1f %%", 100**p)
			}
			return fmt.Sprintf("%.1f %%", 100*v.(float64))
		},
		"sentence": sentence,
		"short":    func(v any) string { return fmt.Sprint(v)[:12] },
		"number": func(v any) string {
			switch v := v.(type) {
			case float64:
				return strconv.FormatFloat(v, 'g', 3, 64)
			case *float64:
				return strconv.FormatFloat(*v, 'g', 3, 64)
			}
			return fmt.Sprint(v)
		},
	})
	if _, err := t.Parse(pages); err != nil {
		return nil, err
	}
	return t.Parse(own)
}

// Page is a release as a page for people.
type Page struct {
	Title, Answer string
	// Failed holds the failed findings, which replace the answer.
	Failed []evidence.Finding
	// OtherPool says that the given pool is not the study's; "" if it is. The page shows it before
	// the answer.
	OtherPool string
	// Simulated reports that no party took part and nothing is protected. The page says so first.
	Simulated        bool
	Warnings         []string
	Charts           []*Dots
	Figures          []figureGroup
	Numbers          string
	Lines            []study.ReportLine
	Tables           []table
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
	Verified         string // counts the findings
	NotVerified      string
	Study, Kind      string
	Mechanism, Plan  string
	Command, Version string
}

type table struct {
	Title  string
	Head   []string
	Rows   [][]cell
	folded bool
}

// Long reports whether the page shows a table closed, because a chart shows the numbers or it has
// many rows.
func (t table) Long() bool { return t.folded || len(t.Rows) > mostOpenRows }

// Long reports whether the page shows the dots closed, because they have many rows.
func (d *Dots) Long() bool { return len(d.Rows) > mostOpenRows }

type cell struct{ Name, Text string }

type foundGroup struct {
	Title, Class string
	All          []evidence.Finding
}

// The page shows at most mostListed parties, and mostTableRows rows of a table.
const mostListed, mostTableRows = 60, 300

// mostOpenRows bounds the rows of a table that the page shows open: about two screens.
const mostOpenRows = 40

// Options hold what a page shows in addition to the release.
type Options struct {
	// made by a simulation; its conclusion and chart come first on the page
	Measured *Measurement
	Findings []evidence.Finding // made by verify; failed findings replace the answer
	Software string             // version of the program that makes the page
}

// Measurement is a simulation's measurement of its release.
type Measurement struct {
	Conclusion string
	Chart      *study.ReportChart
}

// Words returns the conclusion and then the chart's numbers, beginning with the release's.
func (m Measurement) Words() string {
	var main string
	var others []string
	for _, b := range m.Chart.Bars {
		words := b.Name + " " + textOf(m.Chart, b.Value)
		if b.Main {
			main = words
		} else {
			others = append(others, words)
		}
	}
	if len(others) > 0 {
		main += "; " + strings.Join(others, ", ")
	}
	return m.Conclusion + " " + strings.ToUpper(m.Chart.Title[:1]) + m.Chart.Title[1:] + ": " +
		main + "."
}

// New makes the page of a release. If the release cannot be used (results.CheckedPlan), the page
// shows what can be read. html/template escapes a release's texts.
func New(r study.Release, o Options) (Page, error) {
	measured, found := o.Measured, o.Findings
	p, err := results.CheckedPlan(r)
	if err != nil {
		return Page{}, err
	}
	failed := evidence.AnyFails(found)
	report, err := results.Report(r)
	if err != nil && !failed {
		return Page{}, err
	}
	readable := err == nil
	page := Page{
		Title: "Study " + p.Name + ": what came out", Answer: report.Answer, Warnings: r.Result.Warnings, Lines: report.Lines,
		Parties: r.Parties, Contributed: r.Contributed, Missing: r.Missing,
		Guarantee: guarantee(p, r.Manifest), Removal: RemovalText(p, r.Costs), NotProtected: r.NotProtected, Unit: p.Unit, Costs: r.Costs, Totals: r.Totals,
		NotVerified: "It was not verified here. caucus release verify recomputes all that it claims from the public pool.",
		Study:       p.Name, Kind: p.Kind, Mechanism: p.Mechanism, Plan: r.PlanHash.String(), Version: o.Software,
	}
	var drawn *study.ReportChart
	switch {
	case failed:
		page.Title = "Study " + p.Name + ": what the file says came out"
		page.Failed = slices.DeleteFunc(slices.Clone(found), func(f evidence.Finding) bool {
			return f.Verdict != evidence.Fails
		})
		page.Answer = fmt.Sprintf("Do not believe this release: %s: %s", page.Failed[0].Subject,
			page.Failed[0].Text)
	case measured != nil:
		page.Answer, drawn = measured.Words(), measured.Chart
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
		if d := NewDots(c); d != nil {
			page.Charts = append(page.Charts, d)
		}
	}
	page.Figures = newFigures(report.Figures)
	if c, ok := classifier.Of(r.Result); ok && readable {
		page.Numbers = "Its numbers are " + c.Words() + "."
		if k := c.Calibration; k != nil {
			page.Numbers += fmt.Sprintf(" To be probabilities, scores were multiplied by their calibration slope, %.2f (95 %% interval %.2f to %.2f, of noise and sampling).", k.Slope, k.Low, k.High)
		}
	}
	for _, t := range report.Tables {
		page.Tables = append(page.Tables, newTable(t))
	}
	var counted []string
	for _, v := range evidence.Verdicts {
		g := foundGroup{Title: v.Title(),
			Class: map[evidence.Verdict]string{evidence.Fails: "fails", evidence.Holds: "holds"}[v]}
		for _, f := range found {
			if f.Verdict == v {
				g.All = append(g.All, f)
			}
		}
		if n := len(g.All); n > 0 {
			page.Findings = append(page.Findings, g)
			counted = append(counted, v.Count(n))
		}
	}
	page.Verified = fmt.Sprintf("of %d claims, %s", len(found), strings.Join(counted, ", "))
	return page, nil
}

func newTable(t study.ReportTable) table {
	out := table{Title: t.Title, Head: t.Head, folded: t.Collapsed}
	if more := len(t.Rows) - mostTableRows; more > 0 {
		out.Title += fmt.Sprintf(" (%d further rows are in the release)", more)
		t.Rows = t.Rows[:mostTableRows]
	}
	for _, row := range t.Rows {
		var cells []cell
		for i, text := range row {
			cells = append(cells, cell{t.Head[min(i, len(t.Head)-1)], inCell(text)})
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

const longWord = 32

// inCell lets a text break in a table. A number stays with its ±, and only a word longer than a
// column breaks.
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

// Write renders one HTML file that needs no other file. Control characters and marks that turn
// writing around are left out. Errors are the writer's.
func (p Page) Write(w io.Writer) error {
	t, err := Template("")
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(textpage.PlainWriter{Writer: w}, "release", p)
}
