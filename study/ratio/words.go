package ratio

import (
	"fmt"

	"caucus/privacy"
	"caucus/study"
)

// Words say which features leave in clear, and what sets make public: their names, numbers and
// sizes.
func (Kind) Words(p study.Plan) study.Words {
	t := study.TermsOf[Terms](p)
	w := study.Words{SetColumn: t.Sets == SetsColumn, MaxNumbers: t.Fourier,
		Trained: study.NothingTrained, Neighbours: study.NeighbourText(p), LiarText: study.LiesInNoise,
		ExactDataReceived: "sets"}
	if p.Unit == privacy.Label { // a guarantee for labels gives none for a party
		w.PerParty = int64(t.MaxRecords)
	}
	sets := map[string]string{
		SetsParty:  "all records of this site as one set",
		SetsColumn: "one set for each value of the schema's party column; which values there are, and how many records have each, is thereby public",
		SetsMade:   "one set a class, each holding mostly that class",
	}[t.Sets]
	w.DataSent = map[string]string{
		FeaturesClear:          "of each set its mapped features, record by record, exact; and its number of records of each class, with this site's own noise added before anything leaves: ",
		FeaturesEmbedding:      fmt.Sprintf("of each set the exact mean of %d public random features, which no proof covers; and its number of records of each class, with this site's own noise added before anything leaves: ", t.Fourier),
		FeaturesNoisyEmbedding: fmt.Sprintf("of each set the sums of %d public random features and its number of records of each class, all with this site's own noise added before anything leaves: ", t.Fourier),
	}[t.Features] + sets
	if t.Features != FeaturesNoisyEmbedding {
		w.InClear = p.Schema.FeatureColumns()
	}
	if p.Where != "" {
		w.DataSent += "; all of it of the records alone that the study is about"
	}
	if t.Sets == SetsColumn { // the names and sizes of sets have no noise
		w.InClear = append(w.InClear, p.Schema.Party)
		if p.Unit == privacy.Record {
			w.Neighbours = fmt.Sprintf("two collections of records, the same but for one record of one party, which is replaced by any other of the same set (column %s); who takes part and how many records each party has is the same", p.Schema.Party)
		}
	}

	say := func(format string, args ...any) {
		w.NotProtected = append(w.NotProtected, fmt.Sprintf(format, args...))
	}
	switch {
	case p.Unit == privacy.Label && t.Features == FeaturesEmbedding:
		say("features from the coordinator: the mean embedding of each set of records leaves its party without noise; the guarantee is for labels")
	case p.Unit == privacy.Label:
		say("features from the coordinator: those of each record leave its party in clear, after the plan's map; the guarantee is for labels")
	}
	switch sized := t.sized(p); {
	case t.Sets == SetsColumn && sized:
		say("which set a record is in, and the sets' sizes")
	case t.Sets == SetsColumn:
		say("which set a record is in")
	case sized:
		say("how many records each set has")
	}
	if p.Where != "" && t.Features == FeaturesClear {
		say("which records the study is about: it goes by features, which leave in clear")
	}
	if t.Features != FeaturesNoisyEmbedding {
		held := "means of rows"
		if t.Fourier == 0 {
			held = "the rows themselves"
		}
		say("features from readers of the release: its model holds %s, without noise", held)
	}
	return w
}
