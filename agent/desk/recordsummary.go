package desk

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"caucus/agent/source"
	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// RecordSummary describes a study's records before any processing. All fields except SiteNoise are
// computed from the records and are for the site only. They are not sent, logged or stored.
type RecordSummary struct {
	// Cells describes the columns, in the plan's order.
	Cells []ColumnSummary `json:"cells,omitempty"`
	// Classes counts the records of each class, in the plan's order. Unlabelled counts those
	// without a class.
	Classes    []ClassCount `json:"classes,omitempty"`
	Unlabelled int          `json:"unlabelled,omitempty"`
	// DistinctPatients is the number of patients, 0 if the source's schema names none. Patients
	// groups the patients with several records, fewest records first.
	DistinctPatients int            `json:"patients,omitempty"`
	Patients         []PatientCount `json:"patients_with_several,omitempty"`
	// SiteNoise is the noise on each number, if this site adds it.
	SiteNoise []NoiseSummary `json:"noise_added,omitempty"`
}

// ColumnSummary describes one column of the records, without noise: for this site's persons alone.
type ColumnSummary struct {
	Column string `json:"column"`
	// Unreadable counts cells that are no number, date or text of the kind declared, UnknownLevels
	// texts that are no level, Missing empty cells, and OutOfRange values beyond the schema's
	// bounds.
	Unreadable    int `json:"unreadable"`
	UnknownLevels int `json:"unknown_levels"`
	Missing       int `json:"missing"`
	OutOfRange    int `json:"outside"`
	// SiteValues and Pool describe a column here and in the public pool: the mean of a number in
	// the column's own unit, or the shares of the most frequent levels. Pool is "" before the pool
	// is here.
	SiteValues string `json:"here,omitempty"`
	Pool       string `json:"pool,omitempty"`
	// distance is the largest difference between the two means, over the column's encoded columns.
	distance float64
}

// ClassCount counts the records of a class, exactly, so it is for the site only.
type ClassCount struct {
	Class   string `json:"class"`
	Records int    `json:"records"`
}

// PatientCount counts patients with the same number of records, and gives the guarantee for each of
// them.
type PatientCount struct {
	Patients int `json:"patients"`
	Records  int `json:"records"`
	// Epsilon is null if there is no guarantee.
	Epsilon *float64 `json:"epsilon"`
}

// NoiseSummary is the noise of one output. It follows from public numbers.
type NoiseSummary struct {
	Output string  `json:"output"`
	SD     float64 `json:"standard_deviation"` // standard deviation of the noise on each number
	// UnitsWithinSD is the number of units (labels, records or parties) that together could change
	// a number by SD; 0 if the numbers have weights. CountsUnits says that each number counts
	// units.
	UnitsWithinSD float64      `json:"units"`
	CountsUnits   bool         `json:"counts,omitempty"`
	Unit          privacy.Unit `json:"unit"`
}

func noiseOf(t study.Task, all []study.Reservation) []NoiseSummary {
	var out []NoiseSummary
	for _, r := range all {
		b := r.Terms.Bound
		n := NoiseSummary{Output: r.Output,
			SD:   math.Sqrt(privacy.VarianceOf(r.Terms.Mechanism, b, 0, r.Terms.Length)),
			Unit: b.Unit}
		counter, counts := t.(study.Counter)
		n.CountsUnits = counts || countsUnits(b)
		if counts {
			_, record := counter.Counts(make([]int64, r.Terms.Length))
			n.UnitsWithinSD = n.SD / float64(record)
		} else if most := mostMoved(b); most > 0 {
			n.UnitsWithinSD = n.SD / most
		}
		out = append(out, n)
	}
	return out
}

// mostMoved bounds how far one unit can change a single number; 0 if the numbers have weights. b
// bounds how far the unit can change all numbers together.
func mostMoved(b privacy.Bound) float64 {
	switch {
	case len(b.Weight) > 0:
		return 0
	case countsUnits(b):
		return 1
	case b.L2sq > 0:
		return math.Sqrt(float64(b.L2sq))
	}
	return float64(b.L1)
}

func unitsWords(u privacy.Unit) string {
	if u == privacy.Party {
		return "parties"
	}
	return u.String() + "s"
}

func countsUnits(b privacy.Bound) bool {
	return len(b.Weight) == 0 && b.Cells > 0 && b.L1 == int64(b.Cells) && b.L2sq == int64(b.Cells)
}

// sightOf describes records of a source and what was noticed when they were read. pool holds the
// encoded rows of the public pool, nil if it is not here.
func sightOf(p study.Plan, seen source.SourceReading, records *dataset.Records,
	pool *mat.Dense) RecordSummary {
	s := RecordSummary{Cells: cellsOf(p.Schema, seen.RowRemarks, records, pool)}
	counts := make([]int, len(p.Schema.Label.Classes))
	for _, y := range records.Y {
		if y >= 0 && y < len(counts) {
			counts[y]++
		} else {
			s.Unlabelled++
		}
	}
	for k, class := range p.Schema.Label.Classes {
		s.Classes = append(s.Classes, ClassCount{class, counts[k]})
	}
	s.DistinctPatients, s.Patients = patientsOf(records)
	return s
}

func cellsOf(s dataset.Schema, odd []dataset.Remark, records *dataset.Records,
	pool *mat.Dense) []ColumnSummary {
	columns := s.FeatureColumns()
	out := make([]ColumnSummary, len(columns))
	place := map[string]*ColumnSummary{}
	for i, name := range columns {
		out[i].Column = name
		place[name] = &out[i]
	}
	for _, m := range odd {
		c := place[m.Column]
		if c == nil {
			continue
		}
		switch m.Problem {
		case dataset.ProblemNotANumber, dataset.ProblemNotText, mapping.ProblemNoDate,
			mapping.ProblemNoValue:
			c.Unreadable += m.Count
		case dataset.ProblemUnknownLevel:
			c.UnknownLevels += m.Count
		case dataset.ProblemMissing:
			c.Missing += m.Count
		case dataset.ProblemClamped:
			c.OutOfRange += m.Count
		}
	}
	here, there := means(records.X), means(pool)
	hereWords, poolWords := meanWords(s, here), meanWords(s, there)
	for _, b := range s.Blocks() {
		c := place[b.Column]
		c.SiteValues, c.Pool = hereWords[b.Column], poolWords[b.Column]
		if here == nil || there == nil {
			continue
		}
		for j := b.Start; j < b.Start+b.Width; j++ {
			// not where a column is all missing
			if off := math.Abs(here[j] - there[j]); off > c.distance {
				c.distance = off
			}
		}
	}
	return out
}

// means are over the cells that are there (dataset.Schema.MarkMissing); NaN where none is.
func means(x *mat.Dense) []float64 {
	if x == nil || x.IsEmpty() {
		return nil
	}
	n, d := x.Dims()
	out, there := make([]float64, d), make([]float64, d)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if v == v {
				out[j], there[j] = out[j]+v, there[j]+1
			}
		}
	}
	for j := range out {
		out[j] /= there[j]
	}
	return out
}

const shownLevels = 3

// meanWords describes, for each column of the file, the means of its encoded columns: a number in
// its own unit, or the shares of the most frequent levels.
func meanWords(s dataset.Schema, mean []float64) map[string]string {
	out := map[string]string{}
	if mean == nil {
		return out
	}
	decoded, err := s.Decode(mat.NewDense(1, len(mean), mean))
	if err != nil { // impossible: the means are of this schema's columns
		return out
	}
	names := s.FeatureNames()
	for _, b := range s.Blocks() {
		// b flags missing numbers of a column that is described already
		if _, said := out[b.Column]; said {
			continue
		}
		if !b.OneHot {
			if out[b.Column], _ = decoded.Cell(0, b.Column); mean[b.Start] != mean[b.Start] {
				out[b.Column] = "no number"
			}
			continue
		}
		levels := make([]int, b.Width)
		for k := range levels {
			levels[k] = b.Start + k
		}
		slices.SortStableFunc(levels, func(i, j int) int { return cmp.Compare(mean[j], mean[i]) })
		var words []string
		for _, j := range levels[:min(len(levels), shownLevels)] {
			words = append(words,
				fmt.Sprintf("%s %.1f %%", strings.TrimPrefix(names[j], b.Column+"="), 100*mean[j]))
		}
		out[b.Column] = strings.Join(words, ", ")
	}
	return out
}

// patientsOf counts the patients in records whose schema names patients, and groups those with
// several records. A record without a patient is not counted.
func patientsOf(records *dataset.Records) (persons int, several []PatientCount) {
	counts := map[string]int{}
	for _, who := range records.Patient {
		if who != "" {
			counts[who]++
		}
	}
	with := map[int]int{}
	for _, k := range counts {
		with[k]++
	}
	for _, k := range slices.Sorted(maps.Keys(with)) {
		if k > 1 {
			several = append(several, PatientCount{Patients: with[k], Records: k})
		}
	}
	return len(counts), several
}

// forPatients adds a plan's guarantee for patients with several records. Replacing k records costs
// k·ε and k²·ρ (privacy.Cost.At), where ε and ρ are the costs of replacing one. If the plan keeps
// all records of a patient in one shard, its bound counts them as a whole.
func forPatients(p study.Plan, charges []study.Charge, several []PatientCount) {
	whole := p.Unit >= privacy.Patient || kinds.Explain(p).WholePatients
	for i := range several {
		if whole {
			several[i].Epsilon = finite(p.Epsilon)
			continue
		}
		total := privacy.NewTotals()
		proven := len(charges) > 0
		for _, c := range charges {
			group := c.Cost
			group.Unit, group.PerParty = privacy.Record, int64(several[i].Records)
			at, ok := group.At(privacy.Party)
			if proven = proven && ok; ok {
				total = total.Plus(at)
			}
		}
		if proven {
			several[i].Epsilon = finite(total[privacy.Party].Epsilon(p.Delta))
		}
	}
}

const (
	shownColumns = 24
	shownGroups  = 6
)

func (r RecordSummary) writeTo(b *textpage.Page) {
	columns := slices.Clone(r.Cells)
	more := len(columns) - shownColumns
	if more > 0 { // show the columns that differ most from the pool
		slices.SortStableFunc(columns, func(a, b ColumnSummary) int {
			return cmp.Compare(b.distance, a.distance)
		})
		columns = columns[:shownColumns]
	}
	for i, c := range columns {
		name := ""
		if i == 0 {
			name = "mean"
		}
		b.Add(name, "%s", c.words())
	}
	if more > 0 {
		b.Add("", "and %d columns that differ less from the pool: --json shows all", more)
	}
	if len(r.Classes) > 0 {
		var words []string
		for _, c := range r.Classes {
			words = append(words, fmt.Sprintf("%s %d", c.Class, c.Records))
		}
		if r.Unlabelled > 0 {
			words = append(words, fmt.Sprintf("without a label %d", r.Unlabelled))
		}
		b.Add("classes", "%s", strings.Join(words, ", "))
	}
	if r.DistinctPatients > 0 {
		b.Add("patients", "%d", r.DistinctPatients)
	}
	for i, g := range r.Patients {
		if i == shownGroups {
			b.Add("", "and patients with up to %d records: --json shows all", r.Patients[len(r.Patients)-1].Records)
			break
		}
		b.Add("", "%s", g.words())
	}
	for _, n := range r.SiteNoise {
		b.Add("noise", "%s", n.words())
	}
}

func (c ColumnSummary) words() string {
	words := c.Column
	if c.SiteValues != "" {
		words += ": " + c.SiteValues
	}
	if c.Pool != "" {
		words += "; the pool: " + c.Pool
	}
	for _, n := range []struct {
		count int
		what  string
	}{{c.Unreadable, "cannot be read"}, {c.UnknownLevels, "of no known level"},
		{c.Missing, "missing"}, {c.OutOfRange, "outside the bounds"}} {
		if n.count > 0 {
			words += fmt.Sprintf("; %d %s", n.count, n.what)
		}
	}
	return words
}

func (p PatientCount) words() string {
	have := "patients have"
	if p.Patients == 1 {
		have = "patient has"
	}
	if p.Epsilon == nil {
		return fmt.Sprintf("%d %s %d records: for them nothing is guaranteed", p.Patients, have, p.Records)
	}
	return fmt.Sprintf("%d %s %d records: for them ε = %.4g", p.Patients, have, p.Records,
		*p.Epsilon)
}

func (n NoiseSummary) words() string {
	if n.CountsUnits {
		return fmt.Sprintf("standard deviation %.3g %s on each of this site's counts", n.UnitsWithinSD, unitsWords(n.Unit))
	}
	if n.UnitsWithinSD > 0 && n.Unit != privacy.Party { // a site is one party
		return fmt.Sprintf("standard deviation on each number: %.3g times the most that one %s can move that number", n.UnitsWithinSD, n.Unit)
	}
	return fmt.Sprintf("standard deviation %.4g on each number", n.SD)
}

// finite returns a pointer to x, or nil for infinity, which JSON lacks.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func show(x *float64) string {
	if x == nil {
		return "unbounded"
	}
	return fmt.Sprintf("%.4g", *x)
}
