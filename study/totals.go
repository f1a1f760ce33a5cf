package study

import (
	"fmt"
	"strings"

	"caucus/privacy"
)

// UnitTotal is the guarantee of a whole release for one unit.
type UnitTotal struct {
	Unit    privacy.Unit `json:"unit"`
	Epsilon *float64     `json:"epsilon"` // null: no guarantee
	Delta   float64      `json:"delta"`
	Reason  string       `json:"why"`
}

// Guarantee describes the plan's release. perParty is Words.PerParty.
func (p Plan) Guarantee(perParty int64) privacy.Guarantee {
	return privacy.Guarantee{Unit: p.Unit, Budget: p.Budget(), PerParty: perParty,
		PerPatient: p.PerPatient}
}

// Totals returns the guarantee that the release and the pool's weights have together, for a record
// and a party, and for a patient in a study at that unit or with a number of records per patient.
func Totals(p Plan, words Words) []UnitTotal {
	whats, parts := []string{"this study"}, []privacy.Guarantee{p.Guarantee(words.PerParty)}
	if w := p.Weights; w != nil {
		whats, parts = append(whats, "the pool"), append(parts, w.Guarantee())
	}
	var out []UnitTotal
	units := []privacy.Unit{privacy.Record, privacy.Party}
	if p.Unit == privacy.Patient || p.PerPatient > 0 {
		units = []privacy.Unit{privacy.Record, privacy.Patient, privacy.Party}
	}
	for _, u := range units {
		t := UnitTotal{Unit: u}
		if b, ok := privacy.Compose(u, parts...); ok {
			t.Epsilon, t.Delta = &b.Epsilon, b.Delta
		}
		var why []string
		for i, g := range parts {
			why = append(why, whats[i]+": "+wordsOf(g, u))
		}
		t.Reason = strings.Join(why, "; ")
		out = append(out, t)
	}
	return out
}

func wordsOf(g privacy.Guarantee, u privacy.Unit) string {
	switch {
	case u == privacy.Record && g.Unit == privacy.Patient:
		return fmt.Sprintf("ε = %g, proved for a patient: for a record that another one of the same patient replaces", g.Budget.Epsilon)
	case u <= g.Unit:
		return fmt.Sprintf("ε = %g, proved for a %s", g.Budget.Epsilon, g.Unit)
	case u == privacy.Patient && g.PerPatient > 0:
		return fmt.Sprintf("%d records of a patient at most, ε = %g each", g.PerPatient, g.Budget.Epsilon)
	case g.Unit != privacy.Label && g.PerParty > 0:
		return fmt.Sprintf("%d %ss a party at most, as many in both neighbours, ε = %g each", g.PerParty, g.Unit, g.Budget.Epsilon)
	}
	return fmt.Sprintf("ε = %g for a %s guarantees nothing for a %s", g.Budget.Epsilon, g.Unit, u)
}

// LedgerWords says why a ledger's total grows by less than a study's ε.
func LedgerWords(adds, epsilon float64) string {
	return fmt.Sprintf("this study adds %.3g and not %g: a ledger adds up the noise of all studies and "+
		"tells one ε for them together, which is less than the sum of theirs", adds, epsilon)
}

// String omits the reason.
func (u UnitTotal) String() string {
	if u.Epsilon == nil {
		return fmt.Sprintf("guarantee for a %s: none", u.Unit)
	}
	return fmt.Sprintf("guarantee for a %s: ε = %g, δ = %.3g", u.Unit, *u.Epsilon, u.Delta)
}

// NotProtected lists the gaps in a plan's guarantee, most important first.
func NotProtected(p Plan, w Words) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if p.Simulated {
		say("anybody: the noise was drawn by a generator that anyone can repeat")
	}
	if whom := p.Noise.Trust().NotProtected; whom != "" {
		say(whom, w.ExactDataReceived)
	}
	out = append(out, w.NotProtected...)
	if p.Unit != privacy.Party {
		if p.Unit == privacy.Patient {
			say("a patient known to several parties, or whose number is written in several ways: each of them adds as much again")
			say("a person who shares a patient number with another, or who has several records at a site that stated, without patient numbers, that nobody has two")
		} else if p.PerPatient > 0 {
			say("a patient as well as a single record: the guarantee counts %d times, for the most records of a patient that count, and again for each party that knows the patient", p.PerPatient)
		} else if w.WholePatients {
			say("a patient known to several parties: each of them adds as much again")
		} else {
			say("a patient with k records as well as one with a single record: the guarantee counts k times, over all parties that know the patient")
		}
		for _, t := range Totals(p, w) {
			if t.Unit == privacy.Party && t.Epsilon == nil {
				say("whole parties: what is true of most records of one party may be learned")
			}
		}
		say("how many %ss each party has", Counted(p.Unit))
	}
	say("who took part, who was missing, and when")
	say("what is true of everybody: a finding about all patients tells about each of them, taken part or not")
	say("what other releases tell about the same records: costs add up, and each party's own ledger holds its total")
	say("the result against a party that lies: %s", w.LiarText)
	return out
}
