package study

import (
	"fmt"
	"strings"

	"caucus/privacy"
)

// Words explain a plan to the persons who approve it and to readers of its release. The fields
// after LiarText are facts that an agent's policy checks. A kind writes every text for each of its
// mechanisms.
type Words struct {
	DataSent string // what a party sends, and whether it has noise
	// exact data that the coordinator gets of each party, if the coordinator adds the noise
	ExactDataReceived string
	Trained           string
	InClear           []string // columns whose cells leave a party in clear
	Neighbours        string   // datasets that a reader cannot tell apart
	NotProtected      []string // this kind's gaps in the guarantee, most important first
	LiarText          string   // what a lying party can do to the result

	Learner string // classifier that trains on, or scores, a party's records; "" without one
	// number of disjoint shards of a party's records; each shard has a ballot if parties vote; 0:
	// no shards
	Shards int
	// a patient's records are all in one shard, so the bound counts whole patients
	WholePatients bool
	SiteScores    bool // the party's own program scores its records (Inputs.Scorer)
	SetColumn     bool // the schema's party column names each record's set
	CountsMissing bool // missing cells have cells of their own (dataset.Schema.MarkMissing)
	MaxNumbers    int  // most numbers made from a mapped record; 0: at most those of the map
	// readers see each party's contribution under the party's name; the contribution passed the
	// party's ledger
	ShownByName bool
	PerParty    int64 // most records of one party that count; 0: unknown
}

// AtUnit completes a kind's words of a plan: at unit patient they say which records count, and that
// a site declares its number of patients.
func (w Words) AtUnit(p Plan) Words {
	if p.Unit != privacy.Patient {
		return w
	}
	w.DataSent = "of " + p.ChosenText() + ": " + strings.NewReplacer(
		"declared number of records", "declared number of patients",
		"how many records it declared", "how many patients it declared").Replace(w.DataSent)
	return w
}

// NothingTrained is the text of Words.Trained for kinds that only count or add up. A policy looks
// at Words.Learner instead.
const NothingTrained = "none: nothing is trained here"

// NeighbourText describes neighbours that differ in exactly one unit.
func NeighbourText(p Plan) string {
	switch p.Unit {
	case privacy.Party:
		// Totals guarantees something for a party, these weights included
		if w := p.Weights; w != nil && ByRecord(w.Unit) && w.PerParty > 0 {
			return fmt.Sprintf("two collections of parties, the same but for one party, all of whose records are replaced by any others; who takes part is the same, and for the weights of the pool how many %ss each party has", Counted(w.Unit))
		}
		return "two collections of parties, the same but for one party, all of whose records are replaced by any others; who takes part is the same"
	case privacy.Patient:
		return fmt.Sprintf("two collections of records, the same but for one patient (column %s) of one party, all of whose records are replaced by another patient's; who takes part and how many patients each party has is the same. Each patient counts with one record: %s, before any condition", p.Schema.Patient, p.ChosenText())
	case privacy.Record:
		return "two collections of records, the same but for one record of one party, which is replaced by any other; who takes part and how many records each party has is the same"
	}
	return "two collections of records, the same but for the label of one record of one party, which is replaced by any other; all else of it and who takes part are the same"
}
