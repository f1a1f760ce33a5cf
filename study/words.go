package study

import (
	"caucus/privacy"
)

// Words say what a plan means for the people it concerns: who approves it at a
// party, and who reads its release. A kind writes all texts, of each of its
// mechanisms; there are no defaults. Beside them stands what a policy can be held
// against.
type Words struct {
	// Leaves is what a party sends, once, and whether with noise.
	Leaves string
	// Received is what the coordinator gets of each party, exactly, where it adds
	// the noise itself.
	Received string
	// Trained is what is trained on a party's records.
	Trained string
	// InClear are the columns whose cells leave a party in clear; nil for none.
	InClear []string
	// Neighbours says which data a reader cannot tell apart.
	Neighbours string
	// NotProtected is what of this kind the guarantee does not cover, most
	// important first; nil where there is nothing beyond what holds for every kind.
	NotProtected []string
	// Liar is what a party that lies can do to the result.
	Liar string

	// Learner names the classifier that is trained on a party's records, or that scores
	// them; "" for none.
	Learner string
	// Shards is into how many disjoint shards a party's records go, each for a ballot of its
	// own where parties cast ballots; 0: the kind has none.
	Shards int
	// WholePatients: a shard has all records of a patient, whom the bound counts whole.
	WholePatients bool
	// Scored: a program of the party's own scores its records (Inputs.Scorer).
	Scored bool
	// SetColumn: the schema's party column names the set of each record.
	SetColumn bool
	// Numbers is the most numbers that are made of a mapped record, 0 where that is
	// not more than the map makes.
	Numbers int
	// Named: what each party sends is for every reader of the release to see, under the
	// party's name. It passed the party's own ledger.
	Named bool
	// PerParty is the most records of one party that count; 0: unknown.
	PerParty int64
}

const NothingTrained = "none: nothing is trained here"

// OneUnit says which data are the same but for one unit, where nothing but
// the unit counts.
func OneUnit(p Plan) string {
	switch p.Unit {
	case privacy.Party:
		if w := p.Weights; w != nil && w.Unit == privacy.Record && w.PerParty > 0 { // Totals counts them for a party
			return "two collections of parties, the same but for one party, all of whose records are replaced by any others; who takes part is the same, and for the weights of the pool how many records each party has"
		}
		return "two collections of parties, the same but for one party, all of whose records are replaced by any others; who takes part is the same"
	case privacy.Record:
		return "two collections of records, the same but for one record of one party, which is replaced by any other; who takes part and how many records each party has is the same"
	}
	return "two collections of records, the same but for the label of one record of one party, which is replaced by any other; all else of it and who takes part are the same"
}
