package study

// Report is a kind's account of a release for people: answer, charts, lines, then tables. It may
// hold untrusted text; whoever displays it must escape it.
type Report struct {
	Answer string
	// Charts, most important first; none if numbers say it better.
	Charts []*ReportChart
	Lines  []ReportLine
	Tables []ReportTable
}

// ReportLine is a named line; a continuation has no name.
type ReportLine struct{ Name, Text string }

// ReportTable has as many cells per row as Head.
type ReportTable struct {
	Title string
	Head  []string
	Rows  [][]string
}

// ReportChart compares numbers on one axis, one dot each with its interval.
type ReportChart struct {
	// Title says what is measured, Note what the intervals are.
	Title, Note string
	Bars        []ReportBar
	// Percent shows numbers as shares.
	Percent bool
}

// ReportBar is one number; Low and High equal Value if it has no interval.
type ReportBar struct {
	Name             string
	Value, Low, High float64
	// Main marks the release's own numbers; the others are for comparison.
	Main bool
}

// Bar is a number with the interval value ± off.
func Bar(name string, value, off float64) ReportBar {
	return ReportBar{Name: name, Value: value, Low: value - off, High: value + off}
}

// Reporter is a kind that describes its results in words.
type Reporter interface {
	Report(Release) (Report, error)
}
