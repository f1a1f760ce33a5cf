package public

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"caucus/dataset"
)

// HospitalConfig says how large and how unequal the generated hospitals are. No record in them is
// of a real person.
type HospitalConfig struct {
	Sites   int
	Records int    // number of admissions in all hospitals together, at least 0
	Seed    uint64 // equal seeds give equal tables
	// SizeSkew makes hospitals unequal: hospital s, from 0, has a share ∝ (s+2)^-SizeSkew. 0 is
	// equal.
	SizeSkew float64
	// ReturningShare is the share of admissions that are of returning patients. One in ten changes
	// the hospital.
	ReturningShare float64
	// Missing is the share of creatinine values that were not measured.
	Missing float64
}

// DefaultHospitalConfig describes twelve hospitals of about 200 to 1,400 admissions.
func DefaultHospitalConfig() HospitalConfig {
	return HospitalConfig{Sites: 12, Records: 6000, Seed: 1, SizeSkew: 1, ReturningShare: 0.25,
		Missing: 0.05}
}

// Validate requires a site at least, SizeSkew 0 to 10, and shares for ReturningShare (below 1) and
// Missing. Errors name the setting.
func (h HospitalConfig) Validate() error {
	switch {
	case h.Sites < 1:
		return fmt.Errorf("hospitals: sites is %d; set at least 1", h.Sites)
	case h.Records < 0:
		return fmt.Errorf("hospitals: records is %d; set 0 or more", h.Records)
	case !(h.SizeSkew >= 0 && h.SizeSkew <= 10):
		return fmt.Errorf("hospitals: skew is %g; set 0 (equal) to 10", h.SizeSkew)
	case !(h.ReturningShare >= 0 && h.ReturningShare < 1):
		return fmt.Errorf("hospitals: returns is %g; set a share from 0 to below 1", h.ReturningShare)
	case !(h.Missing >= 0 && h.Missing <= 1):
		return fmt.Errorf("hospitals: missing is %g; set a share from 0 to 1", h.Missing)
	}
	return nil
}

var diagnosisGroups = []string{"heart-failure", "pneumonia", "diabetes", "copd", "hip-fracture",
	"stroke", "sepsis", "other"}

// diagnosisRisk is each diagnosis' addition to the log odds of readmission.
var diagnosisRisk = []float64{1.6, 0.1, 0.7, 1.1, -0.9, 0.3, 0.6, -0.6}

// HospitalSchema has ten features, patient and hospital, and predicts readmission in two classes.
// Its bounds are of medicine, not of the generated data.
func HospitalSchema() dataset.Schema {
	return dataset.Schema{
		Name:    "hospitals",
		Party:   "hospital",
		Patient: "patient",
		Missing: "?",
		Label:   dataset.Label{Column: "readmitted", Classes: []string{"no", "yes"}},
		Features: []dataset.Feature{
			{Column: "age", Kind: dataset.Numeric, Min: 18, Max: 100},
			{Column: "sex", Kind: dataset.Categorical, Levels: []string{"female", "male"}},
			{Column: "systolic_bp", Kind: dataset.Numeric, Min: 80, Max: 220},
			{Column: "glucose", Kind: dataset.Numeric, Min: 50, Max: 400, Log: true},
			{Column: "creatinine", Kind: dataset.Numeric, Min: 0.3, Max: 10, Log: true,
				FlagMissing: true},
			{Column: "bmi", Kind: dataset.Numeric, Min: 15, Max: 50},
			{Column: "smoker", Kind: dataset.Categorical, Levels: []string{"no", "former", "yes"}},
			{Column: "diagnosis", Kind: dataset.Categorical, Levels: slices.Clone(diagnosisGroups)},
			{Column: "admissions_before", Kind: dataset.Numeric, Min: 0, Max: 20, Log: true},
			{Column: "days", Kind: dataset.Numeric, Min: 1, Max: 60, Log: true},
		},
	}
}

type patient struct {
	// frailty, kidney: normal of variance 1; kidney has mean 0, frailty the hospital's severity
	bmi, frailty, kidney float64
	id                   int32
	age, sex, smoker     uint8
}

// Hospitals generates admissions of invented patients to hospitals that differ in size and
// patients, with the outcome: readmission within 30 days. The truth is a logistic model of the
// columns plus a small effect of the hospital. About a third are readmitted, and between a fifth
// and a half at single hospitals; the best linear model is right on about four of five. Some
// patients have several records, mostly at one hospital. It panics on an invalid config.
func Hospitals(c HospitalConfig) (*dataset.Table, dataset.Schema) {
	if err := c.Validate(); err != nil {
		panic(err)
	}
	s := HospitalSchema()
	columns := append([]string{s.Party, s.Patient}, s.FeatureColumns()...)
	b, err := dataset.NewTableBuilder(append(columns, s.Label.Column))
	if err != nil {
		panic(err) // impossible: the names above are distinct
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0x686f73706974616c)) // "hospital" in ASCII
	admissions := hospitalOfEach(c, rng)
	sites := hospitalSites(c, admissions, rng)
	patients := make([]patient, 0, len(admissions))
	seenAt := make([][]int32, c.Sites)
	for _, h := range admissions {
		p := patient{id: int32(len(patients))}
		if back := rng.Float64() < c.ReturningShare; back && rng.Float64() < 0.1 &&
			len(patients) > 0 {
			p = patients[rng.IntN(len(patients))]
		} else if back && len(seenAt[h]) > 0 {
			p = patients[seenAt[h][rng.IntN(len(seenAt[h]))]]
		} else {
			p.age = uint8(math.Round(min(max(64+sites[h].elderly+15*rng.NormFloat64(), 18), 100)))
			p.bmi = 27 + 5*rng.NormFloat64()
			p.sex = uint8(rng.IntN(2))
			p.smoker = []uint8{0, 0, 0, 1, 1, 2}[rng.IntN(6)]
			p.frailty = sites[h].severity + rng.NormFloat64()
			p.kidney = rng.NormFloat64()
			patients = append(patients, p)
			seenAt[h] = append(seenAt[h], p.id)
		}
		b.Add(admission(c, s, p, h, sites[h].effect, rng))
	}
	return b.Table(), s
}

type hospitalSite struct{ elderly, severity, effect float64 }

// hospitalSites draws the hospitals and centres them over the admissions, so that the share of
// readmissions hardly depends on the seed.
func hospitalSites(c HospitalConfig, admissions []int, rng *rand.Rand) []hospitalSite {
	sites := make([]hospitalSite, c.Sites)
	for i := range sites {
		sites[i] = hospitalSite{6 * rng.NormFloat64(), 0.5 * rng.NormFloat64(),
			0.25 * rng.NormFloat64()}
	}
	var mean hospitalSite
	for _, h := range admissions {
		mean.elderly += sites[h].elderly / float64(len(admissions))
		mean.severity += sites[h].severity / float64(len(admissions))
		mean.effect += sites[h].effect / float64(len(admissions))
	}
	for i := range sites {
		sites[i].elderly -= mean.elderly
		sites[i].severity -= mean.severity
		sites[i].effect -= mean.effect
	}
	return sites
}

func hospitalOfEach(c HospitalConfig, rng *rand.Rand) []int {
	total := 0.0
	cumulative := make([]float64, c.Sites)
	for i := range cumulative {
		total += math.Pow(float64(i+2), -c.SizeSkew)
		cumulative[i] = total
	}
	of := make([]int, c.Records)
	for i := range of {
		// Evenly spaced positions give every hospital exactly its share.
		at, _ := slices.BinarySearch(cumulative, (float64(i)+0.5)/float64(c.Records)*total)
		of[i] = min(at, c.Sites-1)
	}
	rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return of
}

func admission(c HospitalConfig, s dataset.Schema, p patient, hospital int, effect float64,
	rng *rand.Rand) []string {
	diagnosis := rng.IntN(len(diagnosisGroups))
	age := float64(p.age)
	pressure := 128 + 0.25*(age-60) + 16*rng.NormFloat64()
	glucose := 115 * math.Exp(0.22*rng.NormFloat64()+0.012*(p.bmi-27))
	if diagnosisGroups[diagnosis] == "diabetes" {
		glucose *= 1.6
	}
	creatinine := math.Exp(0.05 + 0.28*p.kidney + 0.1*p.frailty + 0.1*rng.NormFloat64())
	before := math.Floor(math.Exp(0.5 + 0.65*p.frailty + 0.35*rng.NormFloat64()))
	days := 1 + math.Floor(math.Exp(1.3+0.3*p.frailty+0.5*rng.NormFloat64()))

	odds := -1.5 + effect + diagnosisRisk[diagnosis] +
		0.045*(age-64) +
		2.0*(math.Log1p(before)-1) +
		0.9*(math.Log1p(days)-1.6) +
		1.8*math.Log(creatinine) +
		0.9*math.Log(glucose/115) +
		[]float64{0, 0.2, 0.8}[p.smoker]
	outcome := s.Label.Classes[0]
	if rng.Float64() < 1/(1+math.Exp(-1.2*odds)) {
		outcome = s.Label.Classes[1]
	}

	measured := strconv.FormatFloat(creatinine, 'f', 2, 64)
	if rng.Float64() < c.Missing {
		measured = s.Missing
	}
	decimals := func(v float64, n int) string { return strconv.FormatFloat(v, 'f', n, 64) }
	return []string{
		fmt.Sprintf("hospital-%0*d", len(strconv.Itoa(c.Sites)), hospital+1),
		fmt.Sprintf("patient-%06d", p.id+1),
		decimals(age, 0),
		[]string{"female", "male"}[p.sex],
		decimals(pressure, 0),
		decimals(glucose, 0),
		measured,
		decimals(p.bmi, 1),
		[]string{"no", "former", "yes"}[p.smoker],
		diagnosisGroups[diagnosis],
		decimals(before, 0),
		decimals(days, 0),
		outcome,
	}
}
