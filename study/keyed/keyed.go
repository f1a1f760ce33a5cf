package keyed

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
	"caucus/study"
)

// Records gives each of a party's records a name for one study: the record's content and its number
// among equal records. The HMAC-SHA256 of the name under the site's key decides whether a cut keeps
// the record, and the record's shard, its set if no column names the set, and its turn in the order
// of sending.
//
// Proof note.
//   - Neighbours: multisets M and M′ that differ in one replaced unit, each in a file of any order.
//     By definition they share everything but the labels at unit label, else the column that names
//     each record's set if there is one, else nothing (appendShared).
//   - Lemma 1, names. Replace r, the m-th copy of its bytes, by r′, the m′-th copy of its own. The
//     set of names T becomes T′ = T − (r,m) + (r′,m′). So a function of a record's name changes for
//     that one record only. Copies are equal in everything that a study sees, so their numbers can
//     be given in any order.
//   - Lemma 2, cuts. Records that are equal in what neighbours share form a group. How many of each
//     group stay depends on the groups' sizes alone, which neighbours share. In each group the k
//     names with the least keys stay. If (r,m) was among these, removing it lets in the next name,
//     if there is one. Adding (r′,m′) then fills a free place, or changes nothing, or drives out
//     the greatest of the k: the name just let in, if one was. So the cuts S and S′ are equal, or
//     one record is replaced by another of its group: they are neighbours, and a bound for
//     neighbours holds after a cut as before it. By induction, n replacements (the records of a
//     patient, or of a party of at most n) exchange at most n.
//   - Lemma 3, the order of sending at unit label. It follows from names of the shared parts, and
//     copies of a shared part are numbered in file order. If two files have the same order, one
//     changed label changes one place. A file in another order (sorted by label, say) permutes
//     labels inside a group. But the places of a group are independent and identically distributed,
//     so what is sent is a mixture, over uniform arrangements of each group's labels, of what is
//     sent for one arrangement. The arrangements of neighbours can be paired to differ in one
//     place. (ε,δ) and Rényi divergence are quasi-convex, so the bound for one place holds for the
//     mixture. (No rule without chance does as well: the label pairs {a,b}, {b,c}, {c,a} are
//     neighbours of each other, but in no arrangement in two places do any two differ in one place
//     only.)
//   - If a file changes between two releases under one key, Lemmas 1 and 2 hold for each, so the
//     costs of the two releases add up. The mixture in Lemma 3 needs a new key for each release,
//     and has one: the key depends on the plan, and a ledger releases a plan once.
//   - Numeric model: bytes; floats enter by their bits, and nothing is computed with them.
//   - Assumed: SHA-256 has no collisions. In Lemma 3, and where the choice of records must stay
//     secret, HMAC-SHA256 is a random function to everyone without the key.
type Records struct {
	rule SelectionRule
	mac  hash.Hash
	// full names each record by everything that a study sees of the record.
	full []name
	// shared holds each record's name, made only from the cells in which two neighbouring data sets
	// agree: at unit label all but the label. It is nil if they need not agree in any. At unit
	// label, records with equal cells are numbered in file order.
	shared []name
}

type name struct {
	holds [sha256.Size]byte // digest of the named content
	copy  uint64            // number among records with this content
}

// Purposes of keys. Each purpose gets a different key.
const (
	forCut          = "cut"   // selects records among those with an equal shared part
	forSlot         = "slot"  // decides how many records of each such group are kept
	forOrder        = "order" // order of sending
	PurposeSet      = "set"   // made sets
	PurposeBlankSet = "blank" // the set of a record whose set column is empty
	PurposeClass    = "class" // the class of a record without a label
	// forShard assigns single records to shards, forPatient whole patients, forAlike records with
	// equal content without the label.
	forShard, forPatient, forAlike = "shard", "patient", "alike"
)

// SelectionRule holds what the choices in this package need to know of a plan.
type SelectionRule struct {
	Study  study.Hash
	Unit   privacy.Unit
	Shards int // 0 and 1: no shards
	// SetColumn reports that the party column names each record's set.
	SetColumn bool
}

// NewRecords computes a keyed hash of each of a party's records. Selections follow these hashes.
func NewRecords(rule SelectionRule, records *dataset.Records, siteKey []byte) *Records {
	study := hmac.New(sha256.New, siteKey)
	study.Write([]byte("study\x00"))
	study.Write(rule.Study[:])
	k := &Records{
		rule: rule,
		mac:  hmac.New(sha256.New, study.Sum(nil)),
		full: names(records.Len(), func(b []byte, i int) []byte { return appendRecord(b, records, i) }),
	}
	if rule.Unit == privacy.Label || rule.SetColumn {
		k.shared = names(records.Len(), func(b []byte, i int) []byte {
			return appendShared(b, rule.Unit, records, i)
		})
	}
	return k
}

// names digests what content appends to b for each record i, and numbers equal records.
func names(n int, content func(b []byte, i int) []byte) []name {
	out := make([]name, n)
	seen := make(map[[sha256.Size]byte]uint64, n)
	var b []byte
	for i := range out {
		b = content(b[:0], i)
		holds := sha256.Sum256(b)
		out[i] = name{holds, seen[holds]}
		seen[holds]++
	}
	return out
}

// appendRecord writes everything that a study sees of a record; different records have different
// bytes.
func appendRecord(b []byte, records *dataset.Records, i int) []byte {
	return binary.BigEndian.AppendUint64(appendShared(b, privacy.Label, records, i),
		uint64(records.Y[i]))
}

// appendShared writes the part of a record that neighbours share: at unit label everything but the
// label, at other units the party column, which names the record's set.
func appendShared(b []byte, u privacy.Unit, records *dataset.Records, i int) []byte {
	b = appendText(b, textOf(records.Party, i))
	if u != privacy.Label {
		return b
	}
	b = appendText(b, textOf(records.Patient, i))
	for _, v := range records.X.RawRowView(i) {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	// at unit label no condition reads the label (study.Plan checks this)
	if records.IsExcluded(i) {
		b = append(b, 1)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func textOf(column []string, i int) string {
	if column == nil {
		return ""
	}
	return column[i]
}

// Key returns the HMAC of a purpose and parts.
func (r *Records) Key(use string, parts ...[]byte) (out [sha256.Size]byte) {
	r.mac.Reset()
	r.mac.Write([]byte(use + "\x00"))
	for _, b := range parts {
		r.mac.Write(b)
	}
	r.mac.Sum(out[:0])
	return out
}

func (r *Records) nameKey(use string, n name) [sha256.Size]byte {
	return r.Key(use, n.holds[:], binary.BigEndian.AppendUint64(nil, n.copy))
}

// UniformNumber returns a uniform number that follows from record i and a purpose.
func (r *Records) UniformNumber(use string, i int) uint64 {
	return LeadingNumber(r.nameKey(use, r.full[i]))
}

// LeadingNumber returns the first 8 bytes as a big-endian number, uniform on 0..2⁶⁴−1 to whoever
// lacks the key.
func LeadingNumber(key [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(key[:]) }

func (r *Records) sorted(use string, names []name) []int {
	keys, order := make([][sha256.Size]byte, len(names)), make([]int, len(names))
	for i, n := range names {
		keys[i], order[i] = r.nameKey(use, n), i
	}
	slices.SortFunc(order, func(i, j int) int { return bytes.Compare(keys[i][:], keys[j][:]) })
	return order
}

// SendingOrder returns the records to send at unit label, in the order of sending, at most this
// number.
func (r *Records) SendingOrder(most int) []int {
	order := r.sorted(forOrder, r.shared)
	return order[:min(most, len(order))]
}

// Cut selects at most this number of records. The n-th selected records of two neighbours have the
// same shared part.
func (r *Records) Cut(most int) []int {
	rows := r.sorted(forCut, r.full)
	if r.shared == nil {
		return rows[:min(most, len(rows))]
	}
	groups := map[[sha256.Size]byte][]int{} // groups of more than one record
	for _, n := range r.shared {
		if n.copy > 0 {
			groups[n.holds] = nil
		}
	}
	for _, i := range rows {
		of := r.shared[i].holds
		if group, many := groups[of]; many {
			groups[of] = append(group, i)
		}
	}
	slots := r.sorted(forSlot, r.shared)
	slots = slots[:min(most, len(slots))]
	for at, i := range slots {
		of := r.shared[i].holds
		if group, many := groups[of]; many {
			slots[at], groups[of] = group[0], group[1:]
		}
	}
	return slots
}

// AtMostRecords returns at most this number of a party's records, selected by keys.
func AtMostRecords(in study.Inputs, u privacy.Unit, most int64) *dataset.Records {
	if int64(in.Records.Len()) <= most {
		return in.Records
	}
	return in.Records.Select(NewRecords(SelectionRule{Study: in.Study, Unit: u}, in.Records,
		in.ShardKey()).Cut(int(most)))
}

// ByPatient reports whether shards keep each patient's records together.
func (s SelectionRule) ByPatient(records *dataset.Records) bool {
	return s.Shards > 1 && records.Patient != nil
}

// Shards assigns the records to shards, a patient's records to one shard. Each shard is in the
// order of the records' keys. Records with equal content apart from the label are in one shard in
// two cases: at unit label, so that one label changes one ballot; and if a file names patients but
// not for these records, so that the cut of a shard does not move records between shards.
func (r *Records) Shards(records *dataset.Records) [][]int {
	out := make([][]int, r.rule.Shards)
	for _, i := range r.sorted(forShard, r.full) {
		at := r.UniformNumber(forShard, i)
		if patient := textOf(records.Patient, i); patient != "" {
			at = LeadingNumber(r.Key(forPatient, []byte(patient)))
		} else if r.rule.Unit == privacy.Label || records.Patient != nil {
			at = LeadingNumber(r.Key(forAlike, appendShared(nil, privacy.Label, records, i)))
		}
		s := at % uint64(r.rule.Shards)
		out[s] = append(out[s], i)
	}
	return out
}

// ExactlyN returns n records from a site that declared n, in file order. If there are more records,
// keys select n of them, so neighbours remain neighbours (Lemma 2 of Records). If there are fewer,
// Exactly adds empty records, with all cells missing and without label, patient or party. So at
// unit record, a file that gains or loses one record is a neighbour too (one record is replaced),
// unless a column names the sets.
//
// If shards keep patients together, each shard has its part of n and is cut alone. So replacing a
// patient, with any number of records, moves the records of only two shards. No classifier is
// trained on empty records.
func ExactlyN(rule SelectionRule, s dataset.Schema, records *dataset.Records, n int,
	key []byte) *dataset.Records {
	if records.Len() > n || rule.ByPatient(records) {
		records = records.Select(chosen(rule, records, n, key))
	}
	return filled(s, records, n)
}

func chosen(rule SelectionRule, records *dataset.Records, n int, key []byte) []int {
	k := NewRecords(rule, records, key)
	var rows []int
	if rule.ByPatient(records) {
		for s, shard := range k.Shards(records) {
			part := (n + s) / rule.Shards // the parts add up to n
			rows = append(rows, shard[:min(part, len(shard))]...)
		}
	} else {
		rows = k.Cut(n)
	}
	slices.Sort(rows)
	return rows
}

func filled(s dataset.Schema, records *dataset.Records, n int) *dataset.Records {
	have := records.Len()
	if have >= n {
		return records
	}
	empty := s.Empty()
	out := &dataset.Records{X: mat.NewDense(n, s.Dim(), nil),
		Y: append(slices.Clone(records.Y), make([]int, n-have)...)}
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
	if records.FailsCondition != nil { // an empty record fails every condition
		out.FailsCondition = append(slices.Clone(records.FailsCondition),
			slices.Repeat([]bool{true}, n-have)...)
	}
	return out
}
