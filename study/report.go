package study

// Report is a kind's text for people about a release, most important first. Texts may be hostile:
// escape them.
type Report struct {
	Answer  string
	Charts  []*ReportChart
	Figures []ReportFigure
	Lines   []ReportLine
	Tables  []ReportTable
}

// ReportLine is a named line. A line without a name continues the one before.
type ReportLine struct{ Name, Text string }

// ReportTable has rows as long as Head.
type ReportTable struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
	// Collapsed tables are shown closed, because a chart shows the same numbers or few readers need
	// them.
	Collapsed bool `json:"-"`
}

// ReportChart compares numbers on one axis, a dot with an interval for each.
type ReportChart struct {
	Title, Note string // what is measured; what the intervals are
	Bars        []ReportBar
	Percent     bool // shows numbers in percent
	Whole       bool // shows shares of a whole, on an axis from 0 to 1
	Ratio       bool // shows ratios on a logarithmic axis, with a mark at 1
	Zero        bool // shows differences, with a sign and a mark at 0
}

// ReportBar is one number. Without an interval, Low and High equal Value.
type ReportBar struct {
	Name             string
	Value, Low, High float64
	Main             bool // the release's number; the others are for comparison
}

// NewIntervalBar makes a number with the interval value ± off.
func NewIntervalBar(name string, value, off float64) ReportBar {
	return ReportBar{Name: name, Value: value, Low: value - off, High: value + off}
}

// ReportFigure draws lines between two axes from 0 to 1, such as a ROC curve.
type ReportFigure struct {
	Group, Title, Caption string  // figures of one group stand side by side under its name
	X, Y                  string  // names of the axes
	From, To              float64 // numbers at the ends of the x axis
	Diagonal              bool    // a dashed line from 0, 0 to 1, 1
	Bands                 bool    // intervals are bands, not a bar at each point
	Lines                 []ReportCurve
	// Marks are the numbers at the x axis, between From and To; six at equal distances if empty.
	Marks []float64
	// Below has a row for each line, with its name and a text below each of Marks; empty without
	// rows.
	Below ReportTable
	Table ReportTable // the numbers drawn
}

// ReportCurve is a line of a figure; Dots marks its points.
type ReportCurve struct {
	Name   string
	Points []ReportPoint
	Dots   bool
}

// ReportPoint is a point of a curve. Without an interval, Low and High are equal.
type ReportPoint struct{ X, Y, Low, High float64 }

// Results is the half of a Kind for who plans, releases, verifies or reads: what is made of the
// contributions, and how it is told. It is stateless and safe for concurrent use. A plan's map
// follows from what is made, so it may also be a MapChooser.
type Results interface {
	Finisher(Task) Finisher // of a task that the kind made
	Body() any              // returns a pointer to a zero value of the result's body
	// Report describes a release in words. It refuses a result that it cannot read.
	Report(Release) (Report, error)
}
