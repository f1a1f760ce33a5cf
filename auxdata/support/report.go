package support

import (
	"fmt"
	"math"

	"caucus/auxdata"
	"caucus/dataset"
)

// Report says how much of its schema a pool covers. Weights can raise rows, but not replace
// missing ones.
type Report struct {
	Rows         int      `json:"rows"`
	DistinctRows int      `json:"distinct_rows"`
	Features     int      `json:"features"`
	Weighted     bool     `json:"weighted"`
	Gaps         []string `json:"gaps"`
	Warnings     []string `json:"warnings,omitempty"`
}

const (
	// rareRows is the least number of rows of a level. With fewer, a single row may carry the whole
	// weight.
	rareRows = 10
	// widestGap is the largest share of a number's range that may lie between neighbouring rows.
	widestGap = 0.25
)

// Check reports levels with hardly any rows, and empty parts of a number's range.
func Check(s dataset.Schema, p *auxdata.Pool) Report {
	n, _ := p.Encoded.Dims()
	_, features := p.Encoded.Dims()
	out := Report{Rows: n, Features: features, Weighted: p.Weight != nil, Gaps: []string{}}
	seen := map[string]bool{}
	for i := range n {
		seen[fmt.Sprint(p.Encoded.RawRowView(i))] = true
	}
	out.DistinctRows = len(seen)
	names := s.FeatureNames()
	for _, b := range s.Blocks() {
		if b.OneHot {
			for j := b.Start; j < b.Start+b.Width; j++ {
				count := 0
				for i := range n {
					if p.Encoded.At(i, j) == 1 {
						count++
					}
				}
				switch {
				case count == 0 && names[j] == b.Column+"=other":
				case count == 0:
					out.Gaps = append(out.Gaps, fmt.Sprintf("no row has %s", names[j]))
				case count < rareRows:
					out.Gaps = append(out.Gaps,
						fmt.Sprintf("only %d rows have %s", count, names[j]))
				}
			}
			continue
		}
		if names[b.Start] != b.Column {
			continue
		}
		if low, high := numericGap(p, b.Start, n); high-low > widestGap {
			out.Gaps = append(out.Gaps, fmt.Sprintf("no row has %s between %.0f %% and %.0f %% of its range", b.Column, 100*low, 100*high))
		}
	}
	if out.DistinctRows < n/2 {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("only %d of %d rows are distinct", out.DistinctRows, n))
	}
	if n < features {
		out.Warnings = append(out.Warnings, fmt.Sprintf("there are %d rows for %d features: weights and votes will be erratic", n, features))
	}
	return out
}

func numericGap(p *auxdata.Pool, column, n int) (low, high float64) {
	const parts = 100
	var has [parts]bool
	for i := range n {
		has[min(int(p.Encoded.At(i, column)*parts), parts-1)] = true
	}
	best, start := 0, 0
	for k := 0; k <= parts; k++ {
		if k < parts && !has[k] {
			continue
		}
		if k-start > best {
			best = k - start
			low, high = float64(start)/parts, float64(k)/parts
		}
		start = k + 1
	}
	return low, math.Min(high, 1)
}
