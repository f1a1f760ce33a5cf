package classify

import (
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

// A plan with learner "any" (learners.AnyClassifier) lets each party choose how it votes: with a
// built-in learner or with a program of its own (study.Voter).
//
// Proof note.
//   - Neighbours: replace one party and everything that the party holds. Public: plan, pool, and
//     one ballot per party.
//   - Lemma: a party moves only its own ballot, from any value to any other; the proof note of type
//     votes bounds how far this moves the release. A program may make the ballot in any way: from
//     the party's records, chance, what it kept of earlier studies, and everything public, releases
//     included. All of these are either the party's own, which neighbours replace, or public. The
//     costs of several studies add up as for adaptively chosen mechanisms.
//   - At unit record or with shards, the proof needs ballots that each follow from the records of
//     one shard alone. Nobody would notice a program that reads another shard's file, or what it
//     kept of the last study. Then one record would move more ballots than the bound counts.
//     checkOwn refuses such plans.
//   - Assumed of the site: a program serves one party. If the programs of two parties shared a
//     memory, one party's records would move two ballots.
//   - An invalid ballot (a wrong number of votes, an unknown class, an error, too late) becomes a
//     constant ballot: valid, of the same size, and sent at the same moment, which was fixed before
//     the program ran (the agent's window).
const ownWords = "what each party chooses: one of the built-in classifiers or a program of its own"

// checkOwn refuses plans for which the proof does not cover parties' own programs.
func (t Terms) checkOwn(p study.Plan, m mechanism) error {
	switch {
	case p.Unit != privacy.Party:
		return termsError("learner", "%q hides whole parties only: a program that a party brings may keep or look up records of other shards and studies, so that one %s could move more than its bound says: use unit party, or name one of %v", learners.AnyClassifier, p.Unit, learners.Names())
	case t.Shards > 1:
		return termsError("learner", "%q is for shards 1: a program that a party brings may read another shard's records", learners.AnyClassifier)
	case !m.words.trained:
		return termsError("learner", "mechanism %q trains no classifier: use tally, moment or output, or leave the learner out", p.Mechanism)
	}
	return nil
}

// ChosenLearner returns the learner to train: the plan's or, if the plan says any, the party's
// choice.
func ChosenLearner(learner string, v study.Voter) string {
	if learner == learners.AnyClassifier {
		return v.Learner
	}
	return learner
}
