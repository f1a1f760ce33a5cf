package classify

import (
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

// A plan whose learner is learners.Any lets each party choose how it votes: a built-in learner or its
// own program (study.Voter).
//
// Proof note.
//   - Neighbours: replace one party and all that it holds. Public: plan, pool, and one ballot per party.
//   - Lemma: a party moves its own ballot, from any value to any other; the note of votes bounds how far
//     that moves the release. Nothing is assumed about how the ballot came about: it may follow from the
//     party's records, from chance, from what the program kept of earlier studies, and from everything
//     public, releases included. All of that is either the party's own, which neighbours replace, or
//     public; and studies add up as adaptively chosen ones do.
//   - At any finer unit the same bound holds, because a record or label is part of one party. But it
//     holds only by way of the party: a plan that claims unit record, or shards, needs a ballot that
//     follows from the records of its shard and nothing else. A program could read another shard's file
//     or a cache of the last study, unnoticed, and one record would move more ballots than the bound
//     counts. Such plans are refused (checkOwn).
//   - Assumed of the site: a program serves one party. If the programs of two parties shared a memory,
//     one party's records would move two ballots.
//   - An invalid ballot (a wrong number of votes, an unknown class, an error, too late) becomes a
//     constant one: valid, of the same size, and sent at the same moment, which was fixed before the
//     program ran (the agent's window).
const ownWords = "what each party chooses: one of the built-in classifiers or a program of its own"

// checkOwn refuses plans with parties' own classifiers that the proof does not cover.
func (t Terms) checkOwn(p study.Plan, m mechanism) error {
	switch {
	case p.Unit != privacy.Party:
		return termsError("learner", "%q hides whole parties only: a program that a party brings may keep or look up records of other shards and studies, so that one %s could move more than its bound says: use unit party, or name one of %v", learners.Any, p.Unit, learners.Names())
	case t.Shards > 1:
		return termsError("learner", "%q is for shards 1: a program that a party brings may read another shard's records", learners.Any)
	case !m.words.trained:
		return termsError("learner", "mechanism %q trains no classifier: use tally, moment or output, or leave the learner out", p.Mechanism)
	case p.Mechanism == "average":
		return termsError("learner", "mechanism %q adds up the weights of linear classifiers, which a program does not give: name one of %v", p.Mechanism, learners.Names())
	}
	return nil
}

// Chosen is the learner to train: the plan's, or the party's choice if the plan leaves it open.
func Chosen(learner string, v study.Voter) string {
	if learner == learners.Any {
		return v.Learner
	}
	return learner
}
