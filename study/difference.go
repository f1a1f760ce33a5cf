package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// resultTolerance is how far numbers of a recomputed result may be from the
// release's, absolutely below 1 and relative to the larger above: processors
// differ in the last bits, which solvers carry on.
const resultTolerance = 1e-6

// difference says where two values differ as JSON, "" if nowhere: numbers by
// resultTolerance, all else exactly.
func difference(a, b any) string {
	var x, y any
	for _, v := range []struct {
		from any
		to   *any
	}{{a, &x}, {b, &y}} {
		text, err := json.Marshal(v.from)
		if err != nil {
			return "a number that is not finite"
		}
		d := json.NewDecoder(bytes.NewReader(text))
		if d.Decode(v.to) != nil {
			return "its JSON"
		}
	}
	return differs("", x, y)
}

func differs(at string, a, b any) string {
	here := strings.TrimPrefix(at, ".")
	if here == "" {
		here = "the top"
	}
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
	case float64:
		y, ok := b.(float64)
		if ok && math.Abs(x-y) <= resultTolerance*math.Max(1, math.Max(math.Abs(x), math.Abs(y))) {
			return ""
		}
		return here
	}
	if a != b {
		return here
	}
	return ""
}
