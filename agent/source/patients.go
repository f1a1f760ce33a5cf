package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"caucus/dataset"
	"caucus/internal/textpage"
)

// choices chooses one record of each patient, when a person imports a source, and counts records.
//
// Proof note. Claim: for a study at unit patient, a bound that is proven for a record holds for all
// records of a patient, however many they are.
//   - Neighbours: multisets of records in which all records of one patient are replaced by those of
//     another patient, whose number is new at the site, in any number. Each of the two has at least
//     one record. Public are the declared number of patients and the plan.
//   - The chosen record of a patient is a function of that patient's records and the site's key:
//     the record with the least HMAC. So the chosen records of all other patients stay, and the
//     chosen record of one patient is replaced by that of another: the chosen tables are
//     neighbours at unit record. Records without a patient's number are left out: they share one
//     key and could be of many patients.
//   - Cut and fill come after the choice, to the declared number of patients, by an order of
//     contents (Blocks, keyed.ExactlyN). So Lemma 2 of keyed.Records applies to chosen records. A
//     cut before the choice would let one patient's many records drive out those of others.
//   - The condition (where) is evaluated on the chosen record. It is a function of that record.
//   - A patient whose new number is known at the site joins records with another patient. Then two
//     chosen records change, and one of them becomes empty: two steps of the above.
//   - The same record is chosen for every study of an import, whatever the plan says.
//   - Time: the choice is made before any study, and a study reads a table of chosen records alone,
//     one of each patient. So its time, like its window, follows from the number of patients. A
//     file that is read again for each study would take time for each of a patient's records, so
//     no study at unit patient reads one, unless a person vouches that no person has two records.
//   - Of equal HMACs, cut to 64 bits, the first record in the table's order of contents is chosen.
//     So records in a tie are chosen by content too.
type choices struct {
	coding *dataset.Coding
	mac    hash.Hash
	of     map[[dataset.KeySize]byte]choice
	// without counts the records without a patient's number.
	without int
}

type choice struct {
	records int
	order   uint64 // least of the patient's records
}

func newChoices(c *dataset.Coding, key []byte) *choices {
	return &choices{coding: c, of: map[[dataset.KeySize]byte]choice{},
		mac: hmac.New(sha256.New, append([]byte("record of a patient\x00"), key...))}
}

// patient returns the key of a record's patient, zero for a record without a patient's number and
// if the schema names no patient column.
func (c *choices) patient(record []byte) [dataset.KeySize]byte {
	widths := c.coding.Columns()
	end := len(record) - widths[len(widths)-1]
	var key [dataset.KeySize]byte
	copy(key[:], record[end-widths[len(widths)-2]:end])
	return key
}

func (c *choices) order(record []byte) uint64 {
	c.mac.Reset()
	c.mac.Write(record)
	var sum [sha256.Size]byte
	return binary.BigEndian.Uint64(c.mac.Sum(sum[:0]))
}

func (c *choices) add(record []byte) {
	who := c.patient(record)
	if who == [dataset.KeySize]byte{} {
		c.without++
		return
	}
	order, of := c.order(record), c.of[who]
	if of.records == 0 || order < of.order {
		of.order = order
	}
	of.records++
	c.of[who] = of
}

// take reports whether a record is the one chosen of its patient. It does so once for a patient.
func (c *choices) take(record []byte) bool {
	who := c.patient(record)
	of, left := c.of[who]
	if !left || of.order != c.order(record) {
		return false
	}
	delete(c.of, who)
	return true
}

// notes say how many records patients have, and what that means at unit patient. All numbers are
// for the site only.
func (c *choices) notes() []string {
	var notes []string
	several, most := 0, 0
	for _, of := range c.of {
		if of.records > 1 {
			several++
		}
		most = max(most, of.records)
	}
	if several > 0 {
		notes = append(notes, fmt.Sprintf("%s of %d have several records, up to %d: a study at unit patient gets one of each", textpage.Count(several, "patient"), len(c.of), most))
	}
	if len(c.of) > 0 && c.without > 0 {
		notes = append(notes, fmt.Sprintf("%s without a patient number: studies at unit patient leave them out", textpage.Count(c.without, "record")))
	}
	return notes
}
