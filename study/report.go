package study

// Report is a kind's account of a release for people: answer, charts, lines, then tables. It may
// hold untrusted text; whoever displays it must escape it.
type Report struct {
	Answer string
	Charts []*ReportChart // most important first
	Lines  []ReportLine
	Tables []ReportTable
}

// ReportLine is a named line; a continuation has no name.
type ReportLine struct{ Name, Text string }

// ReportTable has as many cells per row as Head.
type ReportTable struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// ReportChart compares numbers on one axis, one dot each with its interval.
type ReportChart struct {
	Title, Note string // what is measured; what the intervals are
	Bars        []ReportBar
	Percent     bool // shows shares
}

// ReportBar is one number; Low and High equal Value if it has no interval.
type ReportBar struct {
	Name             string
	Value, Low, High float64
	Main             bool // the release's own number; others are for comparison
}

// Bar is a number with the interval value ± off.
func Bar(name string, value, off float64) ReportBar {
	return ReportBar{Name: name, Value: value, Low: value - off, High: value + off}
}

// Reporter is a kind that describes its results in words.
type Reporter interface {
	Report(Release) (Report, error)
}
