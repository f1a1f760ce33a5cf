package yamlfile

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// TestHostileTexts: a text's size bounds the memory and the depth of nesting that it causes.
// Aliases of aliases are refused, and so is a number of keys that would take minutes to compare.
func TestHostileTexts(t *testing.T) {
	const size = 1 << 18
	type tables struct {
		Map     map[string]string                            `yaml:"map"`
		List    []string                                     `yaml:"list"`
		Lists   [][]string                                   `yaml:"lists"`
		Any     any                                          `yaml:"any"`
		Structs []struct{ A, B, C, D, E, F, G, H, I string } `yaml:"structs"`
	}
	fill := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (size-len(head)-len(tail))/len(unit)) + tail
	}
	keys := func(n int, head string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  k%x: a\n", i)
		}
		return head + b.String()
	}
	bomb := func(first, each string) string {
		text := "any:\n  - &a0 " + first + "\n"
		for i := range 30 {
			again := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ",")
			text += fmt.Sprintf("  - &a%d "+each+"\n", i+1, again)
		}
		return text
	}
	const deep, aliases, many = "exceeded max depth", "excessive aliasing", "keys in one place"
	for _, h := range []struct{ name, text, says string }{
		{"keys", keys(maxKeys+1, "map:\n"), many},
		{"keys of anything", keys(maxKeys+1, "any:\n"), many},
		{"keys in two places", keys(maxKeys*3/4, "map:\n") + keys(maxKeys*3/4, "any:\n"), many},
		{"keys of a long list of codes", keys(maxKeys/4, "map:\n"), ""},
		{"one key again and again", fill("map:\n", " a: b\n", ""), many},
		{"aliases of aliases", bomb("[x, x]", "[%s]"), aliases},
		{"merged aliases", bomb("{x: y}", "{<<: [%s]}"), aliases},
		{"aliases", fill("any:\n - &a a\n", " - *a\n", ""), ""},
		{"lists in lists", fill("any: ", "[", ""), deep},
		{"mappings in mappings", fill("any: ", "{a: ", ""), deep},
		{"indents in indents", fill("any:\n ", "- ", ""), deep},
		{"just deep enough", "any: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), ""},
		{"items", fill("list: [", "a,", "a]"), ""},
		{"empty items", fill("list:\n", "-\n", ""), "entry 1: it is empty: remove it"},
		{"empty structs", fill("structs: [", "{},", "{}]"), ""},
		{"pairs", fill("any: [", "a: ,", "]"), ""},
		{"lists", fill("lists: [", strings.Repeat("[],", 50), "[]]"), ""},
		{"comments", fill("list:\n", "# x\n- a\n", ""), ""},
		{"a long text", fill("any: ", "x", ""), ""},
		{"escapes", fill(`any: "`, `\0`, `"`), ""},
		{"documents", fill("any: a\n", "---\n", ""), "more than one YAML document"},
		{"too long", strings.Repeat("x", maxText+1), "longer than any such file"},
	} {
		heap, took := heapOf(func() {
			d, err := Parse("x.yaml", []byte(h.text))
			if err == nil {
				err = d.Decode(&tables{})
			}
			if h.says == "" && err != nil || h.says != "" && (err == nil ||
				!strings.Contains(err.Error(), h.says)) {
				t.Errorf("%s: %v, want %q", h.name, err, h.says)
			}
		})
		t.Logf("%-28s %8d bytes: %4d MiB, %5d ms", h.name, len(h.text), heap>>20,
			took.Milliseconds())
		if heap > 16<<20+700*size {
			t.Errorf("%s takes %d MiB", h.name, heap>>20)
		}
	}
}

// heapOf returns the bytes that do allocates, which bounds what it holds at any time.
func heapOf(do func()) (uint64, time.Duration) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	read := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	runtime.GC()
	before, at := read(), time.Now()
	do()
	return read() - before, time.Since(at)
}
