package study

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/privacy"
)

// keyed gives each record of a party a name, and from it the numbers that say
// where the record is assigned: to a shard, a made set, a cut, an order. A name
// is what the record holds and which copy of it this is, never its place in the
// file; a number is HMAC-SHA256 of use and name under a key of the site's for
// this one study, so that nobody else can tell it.
//
// Proof note. At unit record and party a name holds all that a study sees of a
// record: patient, party, features and label. Copies are then alike in all of
// it. At unit label it holds all but the label, and copies count in the order of
// the file.
//
//   - Lemma 1 (unit record, whatever the order of either file and whatever the
//     key). Let M′ be the multiset M with one record r replaced by r′. If r is the
//     m-th copy of its bytes and r′ becomes the m′-th of its own, the sets of names
//     are T and T′ = T − (r,m) + (r′,m′): one name is exchanged for another. A
//     record that is assigned by a number of its name therefore stays where it
//     was, and only r leaves and r′ arrives somewhere. Of a cut, the n names
//     with the least numbers, S and S′ are equal or differ by one exchange: S
//     without (r,m) is filled up by the least name outside, if (r,m) was in it;
//     then (r′,m′) stays outside or drives out the greatest, which is that same
//     name where there was one. So a cut of neighbours is a pair of
//     neighbours, and a bound for one record holds after it unchanged. k replaced
//     records (a whole party of k, a patient) exchange k at most, one by one.
//   - Lemma 2 (unit label). Neighbours whose files have one order have the same
//     names in the same places: an assignment moves nothing, and one label differs
//     in one place of it. Files in any other order (sorted by the label, say)
//     permute the labels among records that are alike in all else. Their names'
//     numbers are independent and alike in law, so what is sent has one law for
//     all permutations of a file: it is a mixture, over a uniform permutation, of
//     what is sent of files in one order. The mixtures of neighbours are coupled
//     permutation by permutation to differ in one label each, and (ε,δ), Rényi
//     divergence and with it ρ are quasi-convex: the bound for one label holds.
//     With three labels, none being one, no rule that looks at the multiset alone
//     does better: of the six pairs of three labels, no arrangement in two
//     places has all neighbours differ in one place only.
//   - Two states of one file under one key: Lemma 1 holds for each key, so every
//     release has its bound given the key, and releases of different states add
//     up like any. Lemma 2's law over the key is one release's: the key of another
//     study is independent (it hangs on the plan's hash), and one study releases
//     once.
//   - Numeric model: bytes, with features as the bits of their floats; none is
//     computed with.
//   - Assumed: HMAC-SHA256 cannot be told from a random function without the key
//     (Lemma 2, and that nobody can tell places), and SHA-256 has no collisions
//     (both).
type keyed struct {
	mac    hash.Hash
	names  [][sha256.Size]byte // digests of what records hold
	copies []uint64            // which copy of it each is
}

// What a number is for: no two uses have the same numbers.
const (
	forCut   = "cut"   // which records are used, of more
	forOrder = "order" // in which they are sent
	forSet   = "set"   // made sets
	forClass = "class" // what a record without a label counts as
	// Which shard: of a record, of a patient, of all records that are alike.
	forShard, forPatient, forAlike = "shard", "patient", "alike"
)

// nameRecords names the records of a party for one study.
func nameRecords(p Plan, records *dataset.Records, key []byte) *keyed {
	canonical, err := p.Canonical()
	if err != nil { // it was checked
		panic(err)
	}
	study := HashOf(canonical)
	outer := hmac.New(sha256.New, key)
	outer.Write([]byte("study\x00"))
	outer.Write(study[:])
	k := &keyed{
		mac:   hmac.New(sha256.New, outer.Sum(nil)),
		names: make([][sha256.Size]byte, records.Len()), copies: make([]uint64, records.Len()),
	}
	seen := make(map[[sha256.Size]byte]uint64, records.Len())
	var b []byte
	for i := range k.names {
		b = appendRecord(b[:0], records, i, p.Unit)
		k.names[i] = sha256.Sum256(b)
		k.copies[i] = seen[k.names[i]]
		seen[k.names[i]]++
	}
	return k
}

// appendRecord writes all that a study sees of a record, but for its label at
// unit label: no two records that differ in it have the same bytes.
func appendRecord(b []byte, records *dataset.Records, i int, unit privacy.Unit) []byte {
	for _, name := range []string{textOf(records.Patient, i), textOf(records.Party, i)} {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	if unit != privacy.Label {
		b = binary.BigEndian.AppendUint64(b, uint64(records.Y[i]))
	}
	for _, v := range records.X.RawRowView(i) {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// textOf is a record's entry in a column, "" where there is none.
func textOf(column []string, i int) string {
	if column == nil {
		return ""
	}
	return column[i]
}

// key is the HMAC of a use and what it is for.
func (k *keyed) key(use string, of ...[]byte) (out [sha256.Size]byte) {
	k.mac.Reset()
	k.mac.Write([]byte(use + "\x00"))
	for _, b := range of {
		k.mac.Write(b)
	}
	k.mac.Sum(out[:0])
	return out
}

// copyKey is the key of a record by its name.
func (k *keyed) copyKey(use string, i int) [sha256.Size]byte {
	return k.key(use, k.names[i][:], binary.BigEndian.AppendUint64(nil, k.copies[i]))
}

// number is a record's for a use, uniform.
func (k *keyed) number(use string, i int) uint64 { return leading(k.copyKey(use, i)) }

func leading(key [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(key[:]) }

// least are the rows with the least keys of a use, at most so many, in order.
func (k *keyed) least(use string, most int) []int {
	keys, order := make([][sha256.Size]byte, len(k.names)), make([]int, len(k.names))
	for i := range keys {
		keys[i], order[i] = k.copyKey(use, i), i
	}
	slices.SortFunc(order, func(i, j int) int { return bytes.Compare(keys[i][:], keys[j][:]) })
	return order[:min(most, len(order))]
}

// byPatient says that the plan's shards keep the records of a patient together.
func (p Plan) byPatient(records *dataset.Records) bool {
	return p.Shards > 1 && records.Patient != nil
}

// shards deals records to shards, each in an order of keys, so that training on
// one does not hang on where in the file the records of another are. All
// records of a patient are in one shard. In a file that names patients, records
// that name none are dealt by what they hold alone: not by how many such there
// are, which the cut of a shard may change (Exactly).
func (k *keyed) shards(p Plan, records *dataset.Records) [][]int {
	out := make([][]int, p.Shards)
	for _, i := range k.least(forShard, records.Len()) {
		var at uint64
		switch patient := textOf(records.Patient, i); {
		case patient != "":
			at = leading(k.key(forPatient, []byte(patient)))
		case records.Patient != nil:
			at = leading(k.key(forAlike, k.names[i][:]))
		default:
			at = k.number(forShard, i)
		}
		s := at % uint64(p.Shards)
		out[s] = append(out[s], i)
	}
	return out
}

// Exactly is the records as a study takes them from a site that declared n: n of
// them, in the order of the file. Of more, n are chosen by their keys, so that
// neighbours stay neighbours (keyed); fewer are filled up with empty ones, whose
// cells are all missing, without label, patient or party. A file that gains or
// loses a record is then a neighbour as well, in which one record is replaced.
//
// Where shards keep the records of a patient together each shard has its own
// part of n, and is cut by itself: a patient that is replaced, with as many
// records as may be, moves the records of two shards only. Learners pass over
// empty records.
//
// The key is the site's secret. The plan has been checked.
func Exactly(p Plan, records *dataset.Records, n int, key []byte) *dataset.Records {
	if records.Len() > n || p.byPatient(records) {
		records = records.Select(chosen(p, records, n, key))
	}
	return filled(p.Schema, records, n)
}

// chosen are the rows of at most n records, in the order of the file.
func chosen(p Plan, records *dataset.Records, n int, key []byte) []int {
	k := nameRecords(p, records, key)
	rows := k.least(forCut, records.Len())
	if p.byPatient(records) {
		shard := make([]int, records.Len())
		for s, dealt := range k.shards(p, records) {
			for _, i := range dealt {
				shard[i] = s
			}
		}
		left := make([]int, p.Shards)
		for s := range left {
			left[s] = (n + s) / p.Shards // they add up to n
		}
		rows = slices.DeleteFunc(rows, func(i int) bool {
			left[shard[i]]--
			return left[shard[i]] < 0
		})
	} else {
		rows = rows[:min(n, len(rows))]
	}
	slices.Sort(rows)
	return rows
}

// filled has empty records after the others, n in all.
func filled(s dataset.Schema, records *dataset.Records, n int) *dataset.Records {
	have := records.Len()
	if have >= n {
		return records
	}
	columns := s.FeatureColumns()
	table, err := dataset.NewTable(columns, [][]string{make([]string, len(columns))})
	if err != nil { // a schema that was checked names a column once
		panic(err)
	}
	empty, _, err := s.Encode(table)
	if err != nil {
		panic(err)
	}
	out := &dataset.Records{X: mat.NewDense(n, s.Dim(), nil), Y: append(slices.Clone(records.Y), make([]int, n-have)...)}
	for i := range n {
		if i < have {
			copy(out.X.RawRowView(i), records.X.RawRowView(i))
		} else {
			copy(out.X.RawRowView(i), empty.X.RawRowView(0))
			out.Y[i] = empty.Y[0]
		}
	}
	if records.Party != nil {
		out.Party = append(slices.Clone(records.Party), make([]string, n-have)...)
	}
	if records.Patient != nil {
		out.Patient = append(slices.Clone(records.Patient), make([]string, n-have)...)
	}
	return out
}
