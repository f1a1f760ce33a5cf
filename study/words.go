package study

import (
	"caucus/privacy"
)

// Words explain a plan to those who approve it at a party and those who read its release, with
// facts that a policy can check. A kind writes every text for each of its mechanisms; there are no
// defaults.
type Words struct {
	// Leaves is what a party sends, once, and whether it has noise.
	Leaves string
	// Received is the exact data that the coordinator gets of each party, if it adds the noise.
	Received string
	Trained  string
	// InClear are the columns whose cells leave a party in clear.
	InClear []string
	// Neighbours says which data a reader cannot tell apart.
	Neighbours string
	// NotProtected is what the guarantee does not cover in this kind, beyond what holds for every
	// kind, most important first.
	NotProtected []string
	// Liar is what a lying party can do to the result.
	Liar string

	// Learner names the classifier that is trained on, or scores, a party's records; "" for none.
	Learner string
	// Shards is the number of disjoint shards of a party's records, one ballot each if parties cast
	// ballots; 0 if the kind has none.
	Shards int
	// WholePatients: a patient's records are all in one shard, so the bound counts whole patients.
	WholePatients bool
	// Scored: the party's own program scores its records (Inputs.Scorer).
	Scored bool
	// SetColumn: the schema's party column names the set of each record.
	SetColumn bool
	// Numbers is the most numbers made of a mapped record; 0 if no more than the map makes.
	Numbers int
	// Named: every reader of the release sees each party's contribution under the party's name. It
	// passed the party's own ledger.
	Named bool
	// PerParty is the most records of one party that count; 0: unknown.
	PerParty int64
}

const NothingTrained = "none: nothing is trained here"

// OneUnit describes neighbours that differ in one unit and nothing else.
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
