package verify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"caucus/study"
)

const (
	// fitTolerance bounds the difference of two numbers in results, relative to the larger number
	// or, if that is below 1, to 1. Processors differ in the last bits, and solvers amplify the
	// differences.
	fitTolerance = 1e-6
	// wordTolerance bounds the relative difference of all other fractions, which come from a few
	// stable operations.
	wordTolerance = 1e-12
)

// difference returns the path where two releases differ as JSON, "" if they do not. Fractions may
// differ by the tolerances above. Everything else must be equal, and whole numbers must also be
// written in the same way.
func difference(a, b study.Release) string {
	var x, y any
	for _, v := range []struct {
		from study.Release
		to   *any
	}{{a, &x}, {b, &y}} {
		text, err := json.Marshal(v.from)
		if err != nil {
			return "a number that is not finite"
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(v.to) != nil {
			return "its JSON"
		}
	}
	return differs("", x, y)
}

func differs(at string, a, b any) string {
	here := cmp.Or(strings.TrimPrefix(at, "."), "the top")
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return here
		}
		for _, k := range slices.Sorted(maps.Keys(y)) {
			if _, ok := x[k]; !ok {
				return strings.TrimPrefix(at+"."+k, ".")
			}
		}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if _, ok := y[k]; !ok {
				return strings.TrimPrefix(at+"."+k, ".")
			}
			if d := differs(at+"."+k, x[k], y[k]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return here
		}
		for i := range x {
			if d := differs(fmt.Sprintf("%s[%d]", at, i), x[i], y[i]); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if y, ok := b.(json.Number); !ok || x != y && !near(here, x, y) {
			return here
		}
		return ""
	}
	if a != b {
		return here
	}
	return ""
}

// near reports whether two numbers at a path are equal within the path's tolerance. Two whole
// numbers never are.
func near(at string, a, b json.Number) bool {
	if _, err := a.Int64(); err == nil {
		if _, err := b.Int64(); err == nil {
			return false
		}
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil {
		return false
	}
	larger := math.Max(math.Abs(x), math.Abs(y))
	if strings.HasPrefix(at, "result.") {
		return math.Abs(x-y) <= fitTolerance*math.Max(1, larger)
	}
	return math.Abs(x-y) <= wordTolerance*larger
}
