package study

// Trust describes in words who adds a study's noise, and whom a party and a reader must trust. An
// agent's review, a release's page and its verification show these words.
type Trust struct {
	By               string // who adds the noise
	LeavingText      string // ends a sentence on the numbers that leave a party
	HiddenFrom       string // says from whom a unit is hidden
	GuaranteeAgainst string // says whom the guarantee holds against
	// says whom the guarantee does not hold against, "" for nobody; a format for
	// Words.ExactDataReceived
	NotProtected string
	ServersGet   string // says how servers see the numbers that leave; "" if those have noise
	// ServersLearn says what each server learns, and then what both together learn. It formats
	// Words.ExactDataReceived and the budget.
	ServersLearn string
	// NoiseClaim and SumClaim are claims of a release that only its servers can know to be true.
	// NoiseClaim is about their noise, "" if they add none. SumClaim is a format for the number of
	// parties in the sum.
	NoiseClaim, SumClaim         string
	BelievedClaim, BelievedTopic string // a claim that a reader has to believe, and its topic
	// LiarInRecords, LiarInVectors and LiarInBallots say what a lying party can do to a sum over
	// records, to a sum of bounded vectors (one for each party), and to a sum of ballots.
	LiarInRecords, LiarInVectors, LiarInBallots string
}

// What a lying party can do, in words that several kinds share; "it" is the party.
const (
	LiesInNoise   = "it can move the result by more than its share, because nobody can tell numbers that it makes up from its noise"
	LiesInRecords = "it can move the result by as many records as it declares"
	liesAsOne     = "it weighs as one party, or as many shards, do, and no more"
)

var trusts = map[Noise]Trust{
	NoiseSite: {
		By:               "each site",
		LeavingText:      "; with this site's own noise added before anything leaves",
		HiddenFrom:       "from everyone, the coordinator included",
		GuaranteeAgainst: "Each party added its noise before anything left, so this holds against the coordinator too.",
		SumClaim:         "that the sum is over the contributions of exactly these %d parties, each counted once. Even if that is false, the guarantee holds: each part was noisy before it left",
		BelievedClaim:    "that each party's own agent drew its noise at random: a party answers for itself, and its ledger (caucus ledger verify) holds the charge",
		BelievedTopic:    "noise",
		LiarInRecords:    LiesInNoise,
		LiarInVectors:    LiesInNoise,
		LiarInBallots:    LiesInNoise,
	},
	NoiseCoordinator: {
		By:               "the coordinator",
		LeavingText:      "; exact, without noise: the coordinator adds noise to the sum of all sites",
		HiddenFrom:       "from readers of the release; the coordinator sees this party's contribution as it is",
		GuaranteeAgainst: "The coordinator added the noise: it got each party's exact numbers, and is trusted not to look at them, keep them or pass them on.",
		NotProtected:     "parties from the coordinator: it receives each party's exact %s, and adds the noise itself. The guarantee is towards readers of the release only",
		ServersGet:       "the coordinator gets them as they are",
		NoiseClaim:       "that the noise was drawn at random from this law, once, and that nobody kept the sum without it: what was published looks the same with noise of another making",
		SumClaim:         "that the sum is over the contributions of exactly these %d parties, each counted once: a party can show by its receipt that it contributed, not that it is in the sum",
		BelievedClaim:    "what the coordinator does with the parties' contributions, which it receives without noise",
		BelievedTopic:    "coordinator",
		LiarInRecords:    LiesInRecords,
		LiarInVectors:    liesAsOne,
		LiarInBallots:    liesAsOne,
	},
	NoiseAggregators: {
		By:               "the coordinator and a helper, each in full",
		LeavingText:      "; in two secret shares, one for the coordinator and one for a helper that another organisation runs: neither learns anything of it unless they work together, and each adds noise of its own, in full, to the sum of the shares it holds",
		HiddenFrom:       "from everyone, coordinator and helper included unless the two work together",
		GuaranteeAgainst: "What the parties sent was split between the coordinator and a helper, and each added noise: this holds against either, and not against both if they work together.",
		NotProtected:     "parties from coordinator and helper together: if the two work together they have each party's exact %s, and ε says nothing of what they then know",
		ServersGet:       "coordinator and helper get a random share of each, and the numbers themselves only if they work together",
		ServersLearn: "the coordinator holds one share of what this site sends, and passes on the helper's, which is sealed so that it cannot read it; either share alone is random numbers, the same whatever the records say\n" +
			"both together could add the two shares up, and would have this site's exact %s: whether the two organisations keep apart is for this site to judge\n" +
			"%s holds against every reader, all other sites together, and either server beside them, because each adds the whole noise by itself; against both servers together nothing holds",
		NoiseClaim:    "and the helper's: that each drew its noise at random from this law, once. The noise of either alone carries ε: it is enough that one of them is honest",
		SumClaim:      "and the helper's: that the set of these %d parties is what each added up. A party finds its own contribution among the members that both signed",
		BelievedClaim: "that coordinator and helper do not work together: both at once learn every contribution, and what they proved of it binds nobody",
		BelievedTopic: "servers",
		LiarInRecords: "it can move each number of the sum by the whole range that a proof allows for as many records as it declares, because nobody sees more of it than that proof; and without bound if a server works with it",
		LiarInVectors: "it can move each number of the sum by the whole range that a proof allows one party, because nobody sees more of it than that proof; and without bound if a server works with it",
		LiarInBallots: "it weighs as one party, or as many shards, do, and no more: that is proved of what nobody sees, unless a server works with it",
	},
}

// Trust describes a study that adds noise as n says. An unknown n, which no valid plan has, gets
// the weakest promises.
func (n Noise) Trust() Trust {
	if t, known := trusts[n]; known {
		return t
	}
	return trusts[NoiseCoordinator]
}
