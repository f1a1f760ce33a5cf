package privacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// ledgerOf returns a journal with this number of releases, and its lines.
func ledgerOf(t testing.TB, releases int) (*memory, []Line) {
	t.Helper()
	j := NewMemoryJournal().(*memory)
	l := must(Open(j, Config{}))
	for i := range releases {
		must(l.Release(ctx, fmt.Sprint("r", i), counts(int64(i), 2), laplace(0.25)))
	}
	return j, linesOf(t, j)
}

func linesOf(t testing.TB, j Journal) (lines []Line) {
	t.Helper()
	if _, err := VerifyEach(ctx, j, func(l Line) error {
		lines = append(lines, l)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// follow writes lines to JSON, reads them back and chains them.
func follow(lines []Line) (*LedgerChain, error) {
	c := NewLedgerChain()
	for _, l := range lines {
		var again Line
		if err := json.Unmarshal(must(json.Marshal(l)), &again); err != nil {
			return nil, err
		}
		if err := c.AddLine(again); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// TestLines: a chain of lines has the totals and head of its ledger, without the answers.
func TestLines(t *testing.T) {
	j, lines := ledgerOf(t, 5)
	chain := must(follow(lines))
	if got := must(JournalHead(ctx, j)); chain.Head() != got || got.Sequence != 5 {
		t.Errorf("the lines end at %s, the ledger at %s", chain.Head(), got)
	}
	want := must(encodeTotals(must(Verify(ctx, j))))
	if got := must(encodeTotals(chain.Totals())); string(got) != string(want) {
		t.Errorf("totals %s, want %s", got, want)
	}
	p := must(j.entries[2].published())
	if err := lines[2].CheckResult(p); err != nil {
		t.Error(err)
	}
	if err := lines[3].CheckResult(p); err == nil {
		t.Error("a line answers for another release")
	}
	if h, err := ParseHead(chain.Head().String() + "\n"); err != nil || h != chain.Head() {
		t.Errorf("%v, %v", h, err)
	}
	for _, bad := range []string{"", "5", "x:" + lines[0].Hash.String(),
		"-1:" + lines[0].Hash.String(), "5:12", "5:" + strings.Repeat("z", 64)} {
		if _, err := ParseHead(bad); err == nil {
			t.Errorf("head %q was read", bad)
		}
	}
}

// TestLinesChanged: a line's hash covers every field, and each line covers the line before.
func TestLinesChanged(t *testing.T) {
	reseal := func(l *Line) {
		l.Hash = sealOf(l.Sequence, l.ID, l.Kind, l.Request, l.Body, must(encodeTotals(l.Totals)),
			l.Prev)
	}
	for name, c := range map[string]struct {
		change func(l []Line) []Line
		want   string
	}{
		"number":        {func(l []Line) []Line { l[1].Sequence = 9; return l }, "hash does not match"},
		"id":            {func(l []Line) []Line { l[1].ID = "x"; return l }, "hash does not match"},
		"kind":          {func(l []Line) []Line { l[1].Kind = KindCharge; return l }, "hash does not match"},
		"terms":         {func(l []Line) []Line { l[1].Request[0] ^= 1; return l }, "hash does not match"},
		"answer":        {func(l []Line) []Line { l[1].Body[0] ^= 1; return l }, "hash does not match"},
		"totals":        {func(l []Line) []Line { l[1].Totals = l[0].Totals; return l }, "hash does not match"},
		"no totals":     {func(l []Line) []Line { l[1].Totals = nil; return l }, "incomplete"},
		"before":        {func(l []Line) []Line { l[1].Prev[0] ^= 1; return l }, "hash does not match"},
		"hash":          {func(l []Line) []Line { l[1].Hash[0] ^= 1; return l }, "hash does not match"},
		"a lower cost":  {func(l []Line) []Line { l[1].Costs[0] = PureCost(Record, 0, rat("1/100")); return l }, "not the sum of the charges"},
		"no cost":       {func(l []Line) []Line { l[1].Costs = nil; return l }, "has one cost"},
		"a lower rho":   {func(l []Line) []Line { l[1].Costs[0].Rho = rat("1/100"); return l }, "not the sum of the charges"},
		"a wrong cost":  {func(l []Line) []Line { l[1].Costs[0].Rho = rat("100"); return l }, "a pure cost"},
		"one left out":  {func(l []Line) []Line { return append(l[:1], l[2:]...) }, "does not follow the entry before"},
		"first cut off": {func(l []Line) []Line { return l[1:] }, "does not follow the entry before"},
		"swapped":       {func(l []Line) []Line { l[1], l[2] = l[2], l[1]; return l }, "does not follow the entry before"},
		"a rewritten row, resealed": {func(l []Line) []Line {
			l[1].ID = "x"
			reseal(&l[1])
			return l
		}, "does not follow the entry before"},
		"a skipped number, resealed": {func(l []Line) []Line {
			l[3].Sequence = 9
			reseal(&l[3])
			return l
		}, "does not follow 3"},
		"an unknown kind, resealed": {func(l []Line) []Line {
			l[3].Kind = "gift"
			reseal(&l[3])
			return l
		}, "unknown kind"},
	} {
		_, lines := ledgerOf(t, 4)
		_, err := follow(c.change(lines))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: have %v, want …%s…", name, err, c.want)
		}
	}
}

// TestRecall: a remembered head detects a ledger that was cut off, rolled back, or written anew.
// After a reconciliation, the lost entries count as lost.
func TestRecall(t *testing.T) {
	old, lines := ledgerOf(t, 3)
	whole := must(follow(lines))
	remembered := whole.Head()
	for _, h := range []Head{{}, remembered, {Sequence: 2}, {lines[0].Sequence, lines[0].Hash}} {
		if lost, err := whole.CheckHead(h); err != nil || lost {
			t.Errorf("%s: %v", h, err)
		}
	}
	cut := must(follow(lines[:2]))
	if _, err := cut.CheckHead(remembered); err == nil ||
		!strings.Contains(err.Error(), "ends at entry 2, but was at 3") {
		t.Errorf("cut off: %v", err)
	}
	anew, _ := ledgerOf(t, 3) // other noise
	if _, err := must(VerifyEach(ctx, anew, func(Line) error {
		return nil
	})).CheckHead(remembered); err == nil || !strings.Contains(err.Error(), "written anew") {
		t.Errorf("written anew: %v", err)
	}

	// Rolled back to one entry, with two known to be published: the ledger releases nothing until
	// it is reconciled.
	back := NewMemoryJournal().(*memory)
	back.entries, back.byID = old.entries[:1:1], map[string]int{"r0": 0}
	l := must(Open(back, Config{LastSequence: 3}))
	if _, err := l.Release(ctx, "next", counts(1), laplace(0.25)); !errors.Is(err, ErrBehind) {
		t.Errorf("a ledger that was put back: %v", err)
	}
	if err := l.Reconcile(ctx, []Cost{lines[1].Costs[0], lines[2].Costs[0]}, nil); err != nil {
		t.Fatal(err)
	}
	after := must(VerifyEach(ctx, back, func(Line) error { return nil }))
	for _, line := range lines[1:] {
		if lost, err := after.CheckHead(Head{line.Sequence, line.Hash}); err != nil || !lost {
			t.Errorf("entry %d after reconciling: %t, %v", line.Sequence, lost, err)
		}
	}
	if _, err := after.CheckHead(Head{Sequence: 5}); err == nil {
		t.Error("an entry beyond the reconciliation is not missed")
	}
	if got, want := after.Totals()[Record].Charges, int64(3); got != want {
		t.Errorf("%d charges, want %d", got, want)
	}
}

// TestLineHoldsNoValue: lines of two ledgers with different answers differ only in digests.
func TestLineHoldsNoValue(t *testing.T) {
	_, a := ledgerOf(t, 2)
	_, b := ledgerOf(t, 2)
	for i := range a {
		a[i].Body, b[i].Body = Digest{}, Digest{}
		a[i].Prev, b[i].Prev = Digest{}, Digest{}
		a[i].Hash, b[i].Hash = Digest{}, Digest{}
		if x, y := must(json.Marshal(a[i])), must(json.Marshal(b[i])); string(x) != string(y) {
			t.Errorf("%s\n%s", x, y)
		}
	}
}

func FuzzLine(f *testing.F) {
	_, lines := ledgerOf(f, 2)
	for _, l := range lines {
		f.Add(must(json.Marshal(l)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var l Line
		if json.Unmarshal(text, &l) != nil {
			return
		}
		if err := NewLedgerChain().AddLine(l); err == nil && l.Prev != (Digest{}) {
			t.Error("a chain starts in the middle")
		}
	})
}

func rat(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return x
}
