package study

import (
	"fmt"

	"caucus/privacy"
)

// neighbours says in words which data a plan's guarantee makes hard to tell
// apart. A change of words is a change of manifestForm.
func neighbours(p Plan) string {
	switch p.Unit {
	case privacy.Party:
		if w := p.Weights; w != nil && w.Unit == privacy.Record && w.PerParty > 0 { // Totals counts them for a party
			return "two collections of parties, the same but for one party, all of whose records are replaced by any others; who takes part is the same, and for the weights of the pool how many records each party has"
		}
		return "two collections of parties, the same but for one party, all of whose records are replaced by any others; who takes part is the same"
	case privacy.Record:
		if p.Shards > 1 && p.Schema.Patient != "" {
			return fmt.Sprintf("two collections of records, the same but for one patient (column %s) of one party, all of whose records are replaced by another patient's; who takes part and how many ballots each casts is the same", p.Schema.Patient)
		}
		if p.setsByColumn() {
			return fmt.Sprintf("two collections of records, the same but for one record of one party, which is replaced by any other of the same set (column %s); who takes part and how many records each party has is the same", p.Schema.Party)
		}
		return "two collections of records, the same but for one record of one party, which is replaced by any other; who takes part and how many records each party has is the same"
	default:
		return "two collections of records, the same but for the label of one record of one party, which is replaced by any other; all else of it and who takes part are the same"
	}
}

// notProtected says what a plan's guarantee does not cover, most important
// first.
func notProtected(p Plan) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if p.Simulated {
		say("anybody: the noise was drawn by a generator that anyone can repeat")
	}
	if p.Noise == NoiseCoordinator {
		what := "votes on the rows of the public pool, from which a model like its own can be made"
		switch {
		case p.Mechanism == "cross" || p.Kind == "reweigh":
			what = "sums over its records"
		case p.Mechanism == "means":
			what = "direction, that of its mean of label × features"
		}
		say("parties from the coordinator: it receives each party's exact %s, and adds the noise itself. The guarantee is towards readers of the release only", what)
	}
	switch {
	case p.Unit == privacy.Label && p.Kind == "ratio" && p.Ratio != nil && p.Ratio.Features == FeaturesEmbedding:
		say("features from the coordinator: the mean embedding of each set of records leaves its party without noise; the guarantee is for labels")
	case p.Unit == privacy.Label && (p.Kind == "ratio" || p.Kind == "labels"):
		say("features from the coordinator: those of each record leave its party in clear, after the plan's map; the guarantee is for labels")
	case p.Unit == privacy.Label:
		say("features: the guarantee is for labels")
	}
	if p.Kind == "labels" {
		say("features from readers of the release: its classifier is fitted to them without noise")
	}
	if p.Kind == "ratio" && p.Ratio != nil {
		switch p.Ratio.Sets {
		case SetsColumn:
			say("which set a record is in, and the sets' sizes")
		case SetsParty:
			say("how many records each set has")
		}
		if p.Ratio.Features != FeaturesNoisyEmbedding {
			held := "means of rows"
			if p.Ratio.Fourier == 0 {
				held = "the rows themselves"
			}
			say("features from readers of the release: its model holds %s, without noise", held)
		}
	}
	if p.Unit != privacy.Party {
		if p.Shards > 1 && p.Schema.Patient != "" {
			say("a patient known to several parties: each of them adds as much again")
		} else {
			say("a patient with k records as well as one with a single record: the guarantee counts k times, over all parties that know the patient")
		}
		for _, t := range p.Totals() {
			if t.Unit == privacy.Party && t.Epsilon == nil {
				say("whole parties: what is true of most records of one party may be learned")
			}
		}
		say("how many records each party has")
	}
	say("who took part, who was missing, and when")
	say("what is true of everybody: a finding about all patients tells about each of them, taken part or not")
	say("what other releases tell about the same records: costs add up, and each party's own ledger holds its total")
	if p.Noise == NoiseSite && p.Kind != "labels" {
		say("the result against a party that lies: it can move the result by more than its share, because nobody can tell numbers that it makes up from its noise")
	} else if p.Kind == "classify" && p.Mechanism != "cross" {
		say("the result against a party that lies: it weighs as one party, or as many shards, do, and no more")
	} else {
		say("the result against a party that lies: it can move the result by as many records as it declares")
	}
	return out
}
