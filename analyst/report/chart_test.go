package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestChart: a chart is valid XML with its title and words, foreign texts escaped, and all points
// inside its box.
func TestChart(t *testing.T) {
	c := Chart{Title: "a < b", Words: "0.6 at ε = 0.3", X: "ε", Y: "share",
		Ticks: []float64{0.1, 0.3, 1, 3}, Low: 0.5, High: 0.9}
	for style := LineAndDots; style <= Triangles; style++ {
		c.Series = append(c.Series,
			Series{"<script>", Colours[0], style,
				[]Point{{0.3, 0.6, 0.05}, {1, 0.8, 0}, {3, 0.85, 0.05}}})
	}
	one := Chart{Low: 0, High: 1, Series: []Series{{"one", Grey, Triangles, []Point{{1, 0.5, 0}}}}}
	for name, svg := range map[string]string{"chart": c.SVG(), "legend": c.Legend(),
		"one point": one.SVG(), "no point": Chart{Low: 0, High: 1}.SVG()} {
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, svg)
			}
		}
		if strings.Contains(svg, "<script>") || strings.Contains(svg, "NaN") ||
			strings.Contains(svg, "Inf") {
			t.Errorf("%s: %s", name, svg)
		}
		if name == "legend" {
			continue
		}
		if !strings.Contains(svg, `role="img"`) || !strings.Contains(svg, "<title>") {
			t.Errorf("%s has no words for who cannot see it", name)
		}
		for _, m := range regexp.MustCompile(`c?([xy])[12]?="(-?[0-9.]+)"`).FindAllStringSubmatch(svg, -1) {
			v, err := strconv.ParseFloat(m[2], 64)
			if most := map[string]float64{"x": chartWidth, "y": chartHeight}[m[1]]; err != nil ||
				v < 0 || v > most {
				t.Errorf("%s: %s is outside of the box", name, m[0])
			}
		}
	}
	if strings.Count(c.SVG(), ">0.1<") != 0 || strings.Count(c.SVG(), ">0.3<") != 1 {
		t.Error("marks of the axis are not those within the points")
	}
}

func TestNiceStep(t *testing.T) {
	for width, want := range map[float64]float64{0.4: 0.1, 1: 0.2, 0.09: 0.02, 7: 2, 40: 10} {
		if got := niceStep(width); math.Abs(got-want) > 1e-12 {
			t.Errorf("a step for %g is %g, want %g", width, got, want)
		}
	}
	if decimals(0.05) != 2 || decimals(2) != 0 || decimals(0.1) != 1 {
		t.Error("decimals")
	}
}
