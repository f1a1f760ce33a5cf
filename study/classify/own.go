package classify

import (
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

// A plan whose learner is learners.Any lets each party vote with what it likes: a
// built-in learner or a program of its own (study.Voter).
//
// Proof note.
//   - Neighbours: replace one party, with all that it holds. Public: plan, pool, and
//     that each party casts one ballot.
//   - Lemma: a party moves its own ballot, from any one to any other; votes has how
//     far that moves what is released. Nothing is asked of how the ballot came about:
//     it may follow from the party's records, from chance, from what the program kept
//     of earlier studies, and from everything public, releases included. All of that
//     is the party's own or public, so it is within what neighbours exchange, and
//     studies add up as they do when each is chosen in view of the answers before it.
//   - At any finer unit the same bound holds, because one record or label is part of one
//     party. It holds there by way of the party alone: a plan that claims unit record,
//     or shards, needs a ballot that follows from the records of its shard and from
//     nothing else. A program could read another shard's file, or a cache of the last
//     study, and nobody would see it: one record would move more ballots than the
//     bound counts. Such plans are refused (checkOwn).
//   - Assumed of the site: a program serves one party. Two parties whose programs
//     share a memory would move two ballots with the records of one.
//   - A ballot that is none (another number of votes, a class that is none, an error,
//     too late) is a constant one: valid, of the same size, and sent at the same
//     moment, which was fixed before the program ran (agent's window).
const ownWords = "what each party chooses: one of the built-in classifiers or a program of its own"

// checkOwn refuses plans for parties' own classifiers that the proof does not cover.
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

// Chosen is a plan's learner, or the built-in one that a party chose where the plan leaves
// that to the party.
func Chosen(learner string, v study.Voter) string {
	if learner == learners.Any {
		return v.Learner
	}
	return learner
}
