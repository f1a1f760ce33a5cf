package study

// Report is what a kind says of a release to people: lines, then tables. It may hold
// anybody's words; whoever shows it makes them harmless.
type Report struct {
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

// Reporter is a kind that says in words what its results hold.
type Reporter interface {
	// Report reads the result of a release of this kind.
	Report(Release) (Report, error)
}
