package simulate

import "time"

// Terms are a simulation's own terms: virtual parties' records, and the number of draws. A study
// file has them under `simulate`, and they enter no plan. Each kind offers the terms that it reads,
// and refuses others.
type Terms struct {
	RecordTerms `yaml:",inline"`
	PartyTerms  `yaml:",inline"`
	PoolTerms   `yaml:",inline"`
}

// RecordTerms are for every kind.
type RecordTerms struct {
	Dataset          string `yaml:"dataset" help:"a known data set whose records the virtual parties hold"`
	Train            string `yaml:"train" file:"yes" help:"file of the labelled records that the virtual parties hold: CSV (also packed), Excel, Parquet"`
	GeneratedRecords int    `yaml:"generate" help:"how many records of made-up hospitals to generate where no data are given; default: as many as parties and records need, else 24000"`
	Repeats          int    `yaml:"repeats" help:"repeats with other splits and noise"`
}

// PartyTerms are for kinds that can give each party its own records.
type PartyTerms struct {
	PartyColumn string `yaml:"party_column" help:"column that names each record's party"`
}

// PoolTerms are for kinds that divide records by a [Split].
type PoolTerms struct {
	Test         string  `yaml:"test" file:"yes" help:"file of test records; default: a quarter of the records"`
	HoldOut      bool    `yaml:"hold_out" help:"test on a quarter of the records, even where the known data set has a test file of its own"`
	PoolWhere    string  `yaml:"pool_where" help:"COLUMN=VALUE: these records are the pool, and only the others are private or test records"`
	PoolFraction float64 `yaml:"pool_fraction" help:"share of the training records that becomes the pool, without labels, where no pool is given"`
	PoolRows     int     `yaml:"pool_rows" help:"most rows of that pool; 0: no limit"`
	TrainRows    int     `yaml:"train_rows" help:"use a random part of the training records, of this size; 0: all"`
}

// Common returns the terms that kinds share. Terms that a kind does not offer are zero.
func (t *Terms) Common() Terms { return *t }

// Common has no pool terms: a describe simulation takes a twentieth of its records as the pool.
func (d *DescribeTerms) Common() Terms {
	return Terms{RecordTerms: d.RecordTerms, PartyTerms: d.PartyTerms}
}

// Common has no party terms: each party is dealt one set.
func (r *RatioTerms) Common() Terms {
	return Terms{RecordTerms: r.RecordTerms, PoolTerms: r.PoolTerms}
}

// Common has neither party nor pool terms: Split divides records into pool and private ones.
func (r *ReweighTerms) Common() Terms { return Terms{RecordTerms: r.RecordTerms} }

// DescribeTerms are the terms of [Describe], which takes each party's records whole and needs no
// test records.
type DescribeTerms struct {
	RecordTerms `yaml:",inline"`
	PartyTerms  `yaml:",inline"`
}

// ClassifyTerms are the terms of [Classify]. Voters run as programs on this machine, with the
// records that their parties hold.
type ClassifyTerms struct {
	Terms          `yaml:",inline"`
	HoldOutParties bool          `yaml:"hold_out_parties" help:"test on all records of a quarter of the parties that the party column names: nobody is on both sides"`
	RealShares     bool          `yaml:"real_shares" help:"with noise: aggregators, split every contribution, and prove and check each share"`
	Voters         []string      `yaml:"voters" help:"what parties vote with, dealt in turn: built-in learners, or commands such as \"python3 vote.py\"; implies learner: any (unit party)"`
	VoterTimeout   time.Duration `yaml:"voter_timeout" help:"the longest that such a command may take"`
}

// RatioTerms are the terms of [Ratio]. Each party holds one set of Study.Records records.
type RatioTerms struct {
	RecordTerms    `yaml:",inline"`
	PoolTerms      `yaml:",inline"`
	MainClassShare float64     `yaml:"main_class_share" help:"share of a set's main class, which takes turns; 0: shares uniform on the simplex"`
	SetShares      [][]float64 `yaml:"set_shares" help:"the sets' class shares in turn, such as [[.9, .1], [.1, .9]]"`
	Targets        int         `yaml:"targets" help:"number of test sets, at each of target_shares"`
	TargetSize     int         `yaml:"target_size" help:"records of a test set"`
	TargetShares   [][]float64 `yaml:"target_shares" help:"the test sets' class shares in turn; default: uniform on the simplex"`
	Width          float64     `yaml:"width" help:"kernel width in place of gamma, in units of one over the pool's median squared distance; 0: chosen on held-out sets (clear), 3 (embedding) or 1 (noisy-embedding)"`
}

// LabelsTerms are the terms of [Labels], which needs none of its own.
type LabelsTerms struct {
	Terms `yaml:",inline"`
}

// ReweighTerms are the terms of [Reweigh]. The records are divided so that pool and private records
// differ, as Split and Share say.
type ReweighTerms struct {
	RecordTerms  `yaml:",inline"`
	Split        string  `yaml:"split" help:"COLUMN=VALUE: records with this value are mostly private; COLUMN alone takes its commonest value"`
	Share        float64 `yaml:"share" help:"share of those records, and 1 − share of the others, that is private; the rest is the pool"`
	HoldOutShare float64 `yaml:"hold_out_share" help:"share of the private records that takes no part and is written to test.csv"`
	Query        string  `yaml:"query" help:"condition whose share among the private records is asked for, such as 'income == \">50K\"'"`
	Folder       string  `yaml:"folder" file:"out" help:"folder to write the first repeat's files to: release, schema, pool, weighted pool, private records and those held out"`
}
