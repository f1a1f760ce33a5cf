package main

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

// TestChart: a chart is XML that names what it shows, texts from elsewhere
// escaped, and no point lies outside of its box.
func TestChart(t *testing.T) {
	c := chart{title: "a < b", words: "0.6 at ε = 0.3", x: "ε", y: "share", ticks: []float64{0.1, 0.3, 1, 3}, low: 0.5, high: 0.9}
	for style := lineAndDots; style <= triangles; style++ {
		c.series = append(c.series, series{"<script>", chartColours[0], style, []chartPoint{{0.3, 0.6, 0.05}, {1, 0.8, 0}, {3, 0.85, 0.05}}})
	}
	one := chart{low: 0, high: 1, series: []series{{"one", chartGrey, triangles, []chartPoint{{1, 0.5, 0}}}}}
	for name, svg := range map[string]string{"chart": c.svg(), "legend": c.legend(), "one point": one.svg(), "no point": chart{low: 0, high: 1}.svg()} {
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
		if strings.Contains(svg, "<script>") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
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
			if most := map[string]float64{"x": chartWidth, "y": chartHeight}[m[1]]; err != nil || v < 0 || v > most {
				t.Errorf("%s: %s is outside of the box", name, m[0])
			}
		}
	}
	if strings.Count(c.svg(), ">0.1<") != 0 || strings.Count(c.svg(), ">0.3<") != 1 {
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
