package study

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryNoise calls every method on each setting, so a new constant that is missing in Noises, a
// method or the table of words fails here.
func TestEveryNoise(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "noise.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Noise
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Noise" {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, Noise(text))
			}
		}
		return true
	})
	if !slices.Equal(declared, Noises()) {
		t.Errorf("declared are %q, Noises has %q", declared, Noises())
	}
	if len(trusts) != len(declared) {
		t.Errorf("%d settings are declared, %d have words", len(declared), len(trusts))
	}
	const parties = 7
	facts := map[Noise]struct {
		noisy, shares, exact bool // what a party sends
		draws                int
		charged              string
	}{
		NoiseSite:        {noisy: true, draws: parties, charged: "table"},
		NoiseCoordinator: {exact: true, draws: 1, charged: "table"},
		NoiseAggregators: {shares: true, draws: Servers, charged: "table/coordinator"},
	}
	// These texts are empty: where each site adds noise, the guarantee holds against everybody, the
	// numbers have noise when they leave, and no server vouches for any. A single coordinator sees
	// no shares.
	empty := map[Noise][]string{
		NoiseSite:        {"NotProtected", "ServersGet", "ServersLearn", "NoiseClaim"},
		NoiseCoordinator: {"ServersLearn"},
	}
	formats := map[string]int{"NotProtected": 1, "ServersLearn": 2, "SumClaim": 1}
	for _, n := range declared {
		if err := n.Validate(); err != nil {
			t.Errorf("%s: %v", n, err)
		}
		if f, ok := facts[n]; !ok || n.AddedAtSite() != f.noisy || n.Shared() != f.shares ||
			n.SumsInClear() != f.exact || n.Draws(parties) != f.draws ||
			n.LedgerOutput("table") != f.charged {
			t.Errorf("%s: at site %t, shared %t, in clear %t, %d draws of %d parties, charged as %s: want %+v", n, n.AddedAtSite(), n.Shared(), n.SumsInClear(), n.Draws(parties), parties, n.LedgerOutput("table"), f)
		}
		if kinds := fmt.Sprint(n.AddedAtSite(), n.Shared(), n.SumsInClear()); strings.Count(kinds,
			"true") != 1 {
			t.Errorf("%s: a contribution has noise, is shares, or is exact: %s", n, kinds)
		}
		words, ok := trusts[n]
		if !ok {
			t.Errorf("%s has no words", n)
			continue
		}
		for field, text := range reflect.ValueOf(words).Fields() {
			if (text.String() == "") != slices.Contains(empty[n], field.Name) {
				t.Errorf("%s: %s is %q", n, field.Name, text)
			}
			if have := strings.Count(text.String(), "%"); text.String() != "" &&
				have != formats[field.Name] {
				t.Errorf("%s: %s is a format of %d things, want %d: %q", n, field.Name, have,
					formats[field.Name], text)
			}
		}
	}
}

// TestUnknownNoise: a setting that this version does not know has no property that a proof or a
// server relies on, and its refusal lists the known settings.
func TestUnknownNoise(t *testing.T) {
	for _, n := range []Noise{"", "x", "Site", "site "} {
		if err, want := n.Validate(), fmt.Sprintf(`%q: want "site", "coordinator" or "aggregators"`, n); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", n, err, want)
		}
		if n.AddedAtSite() || n.Shared() || n.SumsInClear() || n.Draws(7) != 1 ||
			n.Trust() != trusts[NoiseCoordinator] {
			t.Errorf("%q is taken for a setting", n)
		}
	}
	p := Plan{Noise: "x"}
	if err := PlanError("noise", "%v", p.Noise.Validate()); !errors.Is(err, ErrPlan) || err.Error() != `plan refused: noise: "x": want "site", "coordinator" or "aggregators"` {
		t.Errorf("refused with %v", err)
	}
}
