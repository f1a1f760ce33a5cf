package evidence_test

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study/verify/evidence"
)

// TestExportedLines: lines are read back as written, up to the first wrong, missing or overlong
// line.
func TestExportedLines(t *testing.T) {
	ctx := context.Background()
	j := privacy.NewMemoryJournal()
	l := must(privacy.Open(j, privacy.Config{}))
	for _, id := range []string{"a", "b", "c"} {
		must(0, l.Spend(ctx, id, privacy.PureCost(privacy.Record, 0, big.NewRat(1, 2))))
	}
	var lines []privacy.Line
	want := must(privacy.VerifyEach(ctx, j, func(l privacy.Line) error {
		lines = append(lines, l)
		return nil
	}))
	var file bytes.Buffer
	must(0, evidence.WriteLines(&file, lines))
	whole := strings.SplitAfter(file.String(), "\n")
	for name, c := range map[string]struct {
		text, want string
		n          int
	}{
		"whole":    {file.String(), "", 3},
		"empty":    {"", "", 0},
		"cut off":  {whole[0] + whole[1], "", 2},
		"a gap":    {whole[0] + whole[2], "line 2 (entry 3)", 1},
		"no JSON":  {whole[0] + "{", "line 2 (entry 0)", 1},
		"changed":  {whole[0] + strings.Replace(whole[1], `"id":"b"`, `"id":"x"`, 1), "line 2 (entry 2)", 1},
		"too long": {whole[0] + strings.Repeat(" ", 1<<20+1), "too long", 1},
	} {
		n := 0
		chain, err := evidence.ReadLines(strings.NewReader(c.text), func(privacy.Line) error {
			n++
			return nil
		})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) ||
			n != c.n {
			t.Errorf("%s: %d lines, %v; want %d, %q", name, n, err, c.n, c.want)
		}
		if name == "whole" && chain.Head() != want.Head() {
			t.Errorf("the head is %v, want %v", chain.Head(), want.Head())
		}
	}
	stop := errors.New("stop")
	if _, err := evidence.ReadLines(&file, func(privacy.Line) error {
		return stop
	}); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
