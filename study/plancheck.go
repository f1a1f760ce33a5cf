package study

import (
	"math"
	"reflect"
	"slices"

	"caucus/privacy"
)

// CheckCommon refuses what is wrong for any kind of study: form, texts, schema, map, budget,
// numbers of parties, ending. It runs before Kind.Check; each error is a Refusal with the field.
func (p Plan) CheckCommon() error {
	if p.Name == "" {
		return PlanError("name", "give the study a name")
	}
	if p.Form != 0 && p.Form != FormCommitted {
		return PlanError("form", "%d: this version knows form %d, and plans of earlier versions", p.Form, FormCommitted)
	}
	if err := checkTexts("", reflect.ValueOf(p)); err != nil {
		return err
	}
	if !reflect.DeepEqual(p.Schema, p.Schema.WithoutFormat()) {
		return PlanError("schema", "how a file is read is the site's to say: leave out delimiter, columns and comment, which belong in the site's own schema; a plan's schema says what columns mean")
	}
	if err := p.Schema.Validate(); err != nil {
		return PlanError("schema", "%v", err)
	}
	if err := p.checkWhere(); err != nil {
		return err
	}
	if err := p.Map.Validate(); err != nil {
		return PlanError("map", "%v", err)
	}
	if p.Map.Columns() != p.Schema.Dim() {
		return PlanError("map", "it takes %d encoded features, the schema has %d", p.Map.Columns(),
			p.Schema.Dim())
	}
	if !(p.Epsilon > 0) || math.IsInf(p.Epsilon, 1) {
		return PlanError("epsilon", "%v is not positive and finite: typical values are 0.1 to 3", p.Epsilon)
	}
	if !(p.Delta >= 0 && p.Delta < 1) {
		return PlanError("delta", "%v is not in [0,1): use 0 for pure ε, or far less than 1/units, such as 1e-6", p.Delta)
	}
	if err := p.Budget().Validate(); err != nil {
		return PlanError("epsilon", "%v", err)
	}
	if p.Lambda < 0 || math.IsNaN(p.Lambda) || math.IsInf(p.Lambda, 1) {
		return PlanError("lambda", "%v is negative or not finite: give a ridge above 0, or 0 for auto", p.Lambda)
	}
	if err := p.Noise.Validate(); err != nil {
		return PlanError("noise", "%v", err)
	}
	if p.Minimum < 1 || p.Minimum > maxUnits {
		return PlanError("minimum", "%d: at least one contribution is needed", p.Minimum)
	}
	if p.Floor < 0 || p.Floor > p.Minimum {
		return PlanError("floor", "%d is not between 1 and the minimum of %d: it is the least that an amendment may lower the minimum to; leave it out to keep the minimum", p.Floor, p.Minimum)
	}
	if err := p.Seal.check("seal"); err != nil {
		return err
	}
	if p.Unit == privacy.Patient && p.Form < FormCommitted {
		return PlanError("form", "%d: plans at unit patient have form %d or above", p.Form,
			FormCommitted)
	}
	if p.Unit == privacy.Patient && p.Schema.Patient == "" {
		return PlanError("schema", "unit patient hides all records of a patient, and the schema does not say whose a record is: name the column of the patient's number (patient: COLUMN), or use unit record")
	}
	if err := p.checkChoice(); err != nil {
		return err
	}
	if err := p.checkPerPatient(); err != nil {
		return err
	}
	if p.Records < 0 || p.Records > maxUnits {
		return PlanError("records", "%d: give how many records each site is publicly known to hold at least", p.Records)
	}
	if len(p.Roster) > 0 && p.Minimum > len(p.Roster) {
		return PlanError("minimum", "%d is more than the %d parties on the roster", p.Minimum,
			len(p.Roster))
	}
	sorted := slices.Sorted(slices.Values(p.Roster))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return PlanError("roster", "%s is listed twice: name it once", sorted[i])
		}
	}
	if err := p.Weights.check(); err != nil {
		return err
	}
	if w := p.Weights; w != nil && MixesPatients(p.Unit, w.Unit) {
		return PlanError("weights", "they hide a %s and this study a %s, and nothing is proven of both together: use unit %s, or another pool", w.Unit, p.Unit, w.Unit)
	}
	return p.checkDelta()
}

func (p Plan) checkPerPatient() error {
	switch k := p.PerPatient; {
	case k == 0:
		return nil
	case k < 0 || k > maxUnits:
		return PlanError("per_patient", "%d: give the most records of a patient that count, or leave it out", k)
	case p.Unit == privacy.Patient:
		return PlanError("per_patient", "%d: at unit patient one record of each patient counts: leave it out", k)
	case p.Unit != privacy.Record || p.Form < FormCommitted:
		return PlanError("per_patient", "%d: it is for new plans at unit record: leave it out", k)
	case p.Schema.Patient == "":
		return PlanError("per_patient", "%d: the schema does not say whose a record is: name the column of the patient's number (patient: COLUMN)", k)
	}
	return nil
}

// CheckDelta refuses a δ above 1/(10·units), because (ε,δ) allows a mechanism to publish each of n
// units with probability δ, so n·δ must be far below 1. about describes the units in the error. A
// coordinator can overstate the plan's numbers, so each site also checks δ against its own count.
func (p Plan) CheckDelta(units int, about string) error {
	if most := MaxDelta(units); p.Delta > most {
		return PlanError("delta", "%g is above %.3g, one over ten times the %d units (%s) %s: it would allow giving a whole unit away; give less, such as %.3g", p.Delta, most, units, p.Unit, about, DefaultDelta(units))
	}
	return nil
}

// MixesPatients reports whether one of two releases hides a patient and the other a record. Their ε
// do not add up for either: neighbours at unit patient may differ in how many records a site has,
// which a release at unit record publishes, and a record that one of another patient replaces
// changes two patients.
func MixesPatients(a, b privacy.Unit) bool {
	return a != b && ByRecord(a) && ByRecord(b)
}

func (p Plan) checkChoice() error {
	switch s := p.Schema; {
	case !slices.Contains(Choices(), p.Choose):
		return PlanError("choose", "%q: write first or last, or leave choose out", p.Choose)
	case p.Choose != ByKey && p.Unit != privacy.Patient:
		return PlanError("choose", "%s: a study at unit %s counts all records: use unit patient",
			p.Choose, p.Unit)
	case p.Choose != ByKey && s.PatientDate == "":
		return PlanError("choose", "%s: the schema names no day of a record: name its column (patient_date: COLUMN)", p.Choose)
	}
	return nil
}

// checkDelta checks δ against the plan's public count. It skips simulations, which protect nobody.
func (p Plan) checkDelta() error {
	if p.Simulated {
		return nil
	}
	if p.Unit != privacy.Party && p.Records < 1 {
		return PlanError("records", "%d: at unit %s say how many %ss each site is publicly known to hold at least; it bounds δ", p.Records, p.Unit, Counted(p.Unit))
	}
	return p.CheckDelta(p.MinUnits(), "that are publicly known to be in the study")
}
