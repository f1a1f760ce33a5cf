package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"caucus/study"
)

// MaxPlan bounds a plan's bytes. Most of a plan is its map and roster: 30
// bytes a party for 100,000 parties, and a projection of 784 columns on 50.
const MaxPlan = 3 << 20

// ParsePlan reads the canonical bytes of a plan that daemons may run, and its
// hash. Beyond what study.ParsePlan refuses, it refuses bytes that are not
// canonical, simulated plans, a δ that would allow giving a whole unit away,
// and a plan without roster or deadline. Errors wrap study.ErrPlan.
func ParsePlan(canonical []byte) (study.Plan, study.Hash, error) {
	refuse := func(format string, args ...any) (study.Plan, study.Hash, error) {
		return study.Plan{}, study.Hash{}, fmt.Errorf("%w: %s", study.ErrPlan, fmt.Sprintf(format, args...))
	}
	if len(canonical) > MaxPlan {
		return refuse("it has %d bytes, at most %d are taken: use a smaller map or roster", len(canonical), MaxPlan)
	}
	p, err := study.ParsePlan(canonical)
	if err != nil {
		return study.Plan{}, study.Hash{}, err
	}
	again, err := p.Canonical()
	if err != nil || !bytes.Equal(again, canonical) {
		return refuse("its bytes are not canonical: write them with Plan.Canonical")
	}
	if p.Simulated {
		return refuse("it is simulated, so it protects nobody: only caucus simulate runs it")
	}
	for field, text := range map[string]string{"name": p.Name, "purpose": p.Purpose, "contact": p.Contact, "data": p.Data} {
		if err := CheckText(text); err != nil {
			return refuse("%s: %v", field, err)
		}
	}
	if len(p.Roster) == 0 {
		return refuse("roster: name the parties that may contribute")
	}
	for _, party := range p.Roster {
		if err := CheckName(string(party)); err != nil {
			return refuse("roster: %v", err)
		}
	}
	if p.Delta*float64(p.Units()) >= 1 {
		return refuse("delta: %g is not below 1/%d, one over the number of units: it would allow giving a whole unit away; give min(1e-6, 1/(10·units))", p.Delta, p.Units())
	}
	if p.Deadline.IsZero() {
		return refuse("deadline: say when the study seals with whoever has contributed")
	}
	return p, study.HashOf(canonical), nil
}

// CheckText refuses text that could pass for something else on the screen of
// whoever must approve it: control characters, line breaks among them, and the
// marks that turn the direction of writing.
func CheckText(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return fmt.Errorf("it holds the control character %U: write it in one plain line", r)
		}
	}
	return nil
}
