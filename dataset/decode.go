package dataset

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

// Decode turns encoded rows (N×Dim) back into a table of the feature columns. Encode turns the
// table into the same rows again, except that numbers are rounded to five digits. A text becomes
// the level with the largest entry ("other" for unknown texts); a number with its missing flag set
// becomes the schema's missing text.
func (s Schema) Decode(x *mat.Dense) (*Table, error) {
	n, d := x.Dims()
	if n > 0 && d != s.Dim() {
		return nil, fmt.Errorf("decode rows: they have %d columns, the schema encodes %d", d, s.Dim())
	}
	b, err := NewTableBuilder(s.FeatureColumns())
	if err != nil {
		return nil, err
	}
	cells := make([]string, len(b.columns))
	for i := range n {
		row := x.RawRowView(i)
		k := 0
		for _, f := range s.Features {
			names, _ := f.names(maxColumns) // no error: Validate has checked the names
			for range names {
				cells[k] = f.decode(row[:f.width()], s.Missing)
				row = row[f.width():]
				k++
			}
		}
		b.Add(cells)
	}
	return b.Table(), nil
}

func (f *Feature) decode(v []float64, missing string) string {
	if f.Kind == Categorical {
		best := 0
		for k := range v {
			if v[k] > v[best] {
				best = k
			}
		}
		if best < len(f.Levels) {
			return f.Levels[best]
		}
		return otherLevel
	}
	if f.FlagMissing && v[1] >= 0.5 {
		return missing
	}
	t := f.Value(max(0, min(v[0], 1)))
	// Round to five digits of the range, and stay within the bounds.
	if unit := math.Pow(10, math.Ceil(math.Log10(f.Max-f.Min))-5); unit > 0 {
		t = math.Round(t/unit) * unit
	}
	t = max(f.Min, min(t, f.Max))
	return strconv.FormatFloat(t, 'g', 8, 64)
}
