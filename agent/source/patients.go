package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"caucus/dataset"
)

// choices chooses one record of each patient.
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
//   - Of equal HMACs, cut to 64 bits, the first record in the table's order of contents is chosen.
//     Records in a tie are thus chosen by content too. A source that is written again regularly has
//     the file's order, where a tie needs a collision in 64 bits or equal records.
type choices struct {
	coding *dataset.Coding
	mac    hash.Hash
	of     map[[dataset.KeySize]byte]choice
	record []byte
}

type choice struct {
	row   int // in the table
	order uint64
}

// add considers the record in a row of the table.
func (c *choices) add(row int, record []byte) {
	patient, known := c.coding.Patient(record)
	if !known {
		return
	}
	c.mac.Reset()
	c.mac.Write(record)
	var sum [sha256.Size]byte
	order := binary.BigEndian.Uint64(c.mac.Sum(sum[:0]))
	if old, seen := c.of[patient]; !seen || order < old.order {
		c.of[patient] = choice{row, order}
	}
}

// onePerPatient returns a table of the records that choices chooses, in the order of the table. It
// reads the table once, and keeps about 100 bytes a patient while it chooses, then 8.
func (t table) onePerPatient(key []byte) (table, error) {
	c := choices{coding: t.coding, of: map[[dataset.KeySize]byte]choice{},
		mac: hmac.New(sha256.New, append([]byte("record of a patient\x00"), key...))}
	for i := range t.head.blocks() {
		b, err := t.block(i)
		if err != nil {
			return t, err
		}
		for row := range b.Rows {
			c.record = t.coding.Row(b, row, c.record)
			c.add(i*blockRows+row, c.record)
		}
	}
	rows := make([]int, 0, len(c.of))
	for _, chosen := range c.of {
		rows = append(rows, chosen.row)
	}
	slices.Sort(rows)
	out := t
	out.head.Rows = len(rows)
	out.block = func(i int) (all dataset.CodedBlock, err error) {
		var of dataset.CodedBlock
		read := -1
		for _, row := range rows[i*blockRows : min((i+1)*blockRows, len(rows))] {
			if row/blockRows != read {
				read = row / blockRows
				if of, err = t.block(read); err != nil {
					return all, err
				}
			}
			c.record = t.coding.Row(of, row%blockRows, c.record)
			t.coding.Append(&all, c.record)
		}
		return all, nil
	}
	return out, nil
}
