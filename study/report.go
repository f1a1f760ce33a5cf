package study

// Report is what a kind says of a release to people: the answer, charts, lines, then
// tables. It may hold anybody's words; whoever shows it makes them harmless.
type Report struct {
	// Answer says in one sentence what came out, as a person would ask for it.
	Answer string
	// Charts are pictures of it, the one that says most first; none where numbers say it
	// better.
	Charts []*ReportChart
	Lines  []ReportLine
	Tables []ReportTable
}

// ReportLine is a line under a name; one that goes on has none.
type ReportLine struct{ Name, Text string }

// ReportTable has as many cells a row as its head.
type ReportTable struct {
	Title string
	Head  []string
	Rows  [][]string
}

// ReportChart compares numbers on one axis: a dot each, with what it may be off by.
type ReportChart struct {
	// Title says what is measured, Note what the intervals are.
	Title, Note string
	Bars        []ReportBar
	// Percent shows them as shares.
	Percent bool
}

// ReportBar is one number; Low and High are it where it has no interval.
type ReportBar struct {
	Name             string
	Value, Low, High float64
	// Main is what the release is about; the others are to compare it with.
	Main bool
}

// Bar is a number that may be off by so much either way.
func Bar(name string, value, off float64) ReportBar {
	return ReportBar{Name: name, Value: value, Low: value - off, High: value + off}
}

// Reporter is a kind that says in words what its results hold.
type Reporter interface {
	// Report reads the result of a release of this kind.
	Report(Release) (Report, error)
}
