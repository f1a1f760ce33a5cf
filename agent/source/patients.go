package source

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"

	"caucus/dataset"
	"caucus/internal/textpage"
	"caucus/study"
)

// choices chooses one record of each patient by each rule (study.Choices), when a person imports a
// source, and counts records.
//
// Proof note. Claim: for a study at unit patient, a bound that is proven for a record holds for all
// records of a patient, however many they are.
//   - Neighbours: multisets of records in which all records of one patient are replaced by those of
//     another patient, whose number is new at the site, in any number. Each of the two has at least
//     one record. Public are the declared number of patients and the plan.
//   - The chosen record of a patient is a function of that patient's records and the site's key:
//     the record with the least place, which is the day of the record and its HMAC. So the chosen
//     records of all other patients stay, and the chosen record of one patient is replaced by that
//     of another: the chosen tables are neighbours at unit record. Records without a patient's
//     number are left out: they share one key and could be of many patients.
//   - Cut and fill come after the choice, to the declared number of patients, by an order of
//     contents (Blocks, keyed.ExactlyN). So Lemma 2 of keyed.Records applies to chosen records. A
//     cut before the choice would let one patient's many records drive out those of others.
//   - The condition (where) is evaluated on the chosen record. It is a function of that record.
//   - A patient whose new number is known at the site joins records with another patient. Then two
//     chosen records change, and one of them becomes empty: two steps of the above.
//   - Every study of an import with one rule gets the same records, whatever else the plan says.
//   - Time: the choice is made before any study, and a study reads a table of chosen records alone,
//     one of each patient. So its time, like its window, follows from the number of patients. A
//     file that is read again for each study would take time for each of a patient's records, so
//     no study at unit patient reads one.
//   - Of equal places, whose HMACs are cut to 64 bits, the first record in the table's order of
//     contents is chosen. So records in a tie are chosen by content too.
type choices struct {
	coding *dataset.RecordCoding
	dated  bool // the schema names the day of a record
	mac    hash.Hash
	of     map[[dataset.KeySize]byte]choice
	// without counts the records without a patient's number.
	without int
}

type choice struct {
	records int
	least   [3]place // of the patient's records, by each rule of study.Choices
}

type place struct {
	day float64
	key uint64
}

func newChoices(s dataset.Schema, key []byte) *choices {
	return &choices{coding: s.Coding(), dated: s.PatientDate != "",
		of:  map[[dataset.KeySize]byte]choice{},
		mac: hmac.New(sha256.New, append([]byte("record of a patient\x00"), key...))}
}

// places returns a record's place among the records of its patient, for each of study.Choices.
func (c *choices) places(record []byte) [3]place {
	c.mac.Reset()
	c.mac.Write(record)
	var sum [sha256.Size]byte
	key, day := binary.BigEndian.Uint64(c.mac.Sum(sum[:0])), c.coding.PatientDay(record)
	first, last := day, -day
	if math.IsNaN(day) {
		first, last = math.Inf(1), math.Inf(1)
	}
	return [3]place{{0, key}, {first, key}, {last, key}}
}

func (c *choices) add(record []byte) {
	who := c.coding.PatientKey(record)
	if who == [dataset.KeySize]byte{} {
		c.without++
		return
	}
	of := c.of[who]
	for i, p := range c.places(record) {
		old := of.least[i]
		if of.records == 0 || cmp.Or(cmp.Compare(p.day, old.day), cmp.Compare(p.key, old.key)) < 0 {
			of.least[i] = p
		}
	}
	of.records++
	c.of[who] = of
}

// taker returns a function that reports whether a record is the one that the i-th of study.Choices
// chooses of its patient. It does so once for a patient.
func (c *choices) taker(i int) func(record []byte) bool {
	return func(record []byte) bool {
		who := c.coding.PatientKey(record)
		of, known := c.of[who]
		if !known || of.least[i] != c.places(record)[i] {
			return false
		}
		of.least[i].day = math.NaN() // equals no place
		c.of[who] = of
		return true
	}
}

// manyRecords is the least number of records of one patient that is told as unusual, if it is also
// more than a hundredth of all. It is a month of daily records.
const manyRecords = 30

// patientCap keeps the first records of each patient in a table's order, up to a plan's public
// number k (Plan.PerPatient).
//
// Proof note. Claim: a bound that is proven for a record holds k times for a patient: k times in
// L1 and for pure ε, k² times for ρ.
//   - Neighbours: as for choices, with the same declared number of records.
//   - The table's order is a total preorder on the contents of records under the site's key. So the
//     kept records of a patient are a function of that patient's records, and those of all others
//     stay. Of the replaced patient's at most k kept records leave, and at most k of the other's
//     enter. Let empty records, last in the order, make both sides equally many: at most k records
//     are replaced.
//   - Cut and fill come after that. By the lemma of Blocks, or Lemma 2 of keyed.Records, the first
//     n of two multisets that differ in at most k records differ in at most k. Group privacy does
//     the rest (privacy.Cost.At). A cut before the choice would let one patient's many records
//     drive out those of others, and be thrown away after that: enumerated for k = 1, a bound of 2
//     is passed by 8.
//   - Records without a patient's number are left out: they could be of one patient. If the mapping
//     says that there is no number, a person vouched that no person has two records, and all stay.
//   - A file that is read again for each study has no order of contents, so no such study reads it
//     (Declaration.Objections).
type patientCap struct {
	most   int64
	coding *dataset.RecordCoding
	seen   map[[dataset.KeySize]byte]int64
}

// capOf returns the cap of a plan on a source's table; nil: all records count.
func capOf(p study.Plan, d Declaration) *patientCap {
	if p.PerPatient == 0 || d.Mapping.LacksPatientNumbers() {
		return nil
	}
	return &patientCap{p.PerPatient, d.Schema.Coding(), map[[dataset.KeySize]byte]int64{}}
}

// rows returns which rows of the table's next block count.
func (p *patientCap) rows(b dataset.CodedBlock) []int {
	kept := []int{}
	for i := range b.Rows {
		who := p.coding.PatientKeyOf(b, i)
		if p.seen[who]++; p.seen[who] <= p.most && who != [dataset.KeySize]byte{} {
			kept = append(kept, i)
		}
	}
	return kept
}

// notes say how many records patients have, and what that means at unit patient. All numbers are
// for the site only.
func (c *choices) notes() []string {
	var notes []string
	several, most, total := 0, 0, 0
	for _, of := range c.of {
		if of.records > 1 {
			several++
		}
		most, total = max(most, of.records), total+of.records
	}
	if several > 0 {
		notes = append(notes, fmt.Sprintf("%s of %d have several records, up to %d: a study at unit patient gets one of each", textpage.Count(several, "patient"), len(c.of), most))
	}
	if total += c.without; most >= manyRecords && most*100 > total {
		notes = append(notes, fmt.Sprintf("one patient number has %d of %s: if it is a mark of a missing number, name it under missing", most, textpage.Count(total, "record")))
	}
	if c.without > 0 {
		notes = append(notes, fmt.Sprintf("%s without a patient number: studies at unit patient leave them out", textpage.Count(c.without, "record")))
	}
	return notes
}
