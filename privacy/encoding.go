package privacy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// The canonical bytes of a Published, without its entry's hash, are: the length of a JSON head as a
// varint, the head, the weights as runs (weight, count) of varints, the values as signed varints,
// the reals as 8 bytes each, the residues as 16. Equal answers have equal bytes: the hash chain
// relies on it.

type publishedHead struct {
	ID         string            `json:"id"`
	Sequence   int64             `json:"sequence"`
	Simulated  bool              `json:"simulated,omitempty"`
	Mechanism  string            `json:"mechanism"`
	Parameters map[string]string `json:"parameters,omitempty"` // JSON sorts keys
	Bound      Bound             `json:"bound"`                // without weights
	Cost       Cost              `json:"cost"`
	Runs       int               `json:"runs"`
	Values     int               `json:"values"`
	Reals      int               `json:"reals"` // −1: none
	Residues   int               `json:"residues,omitempty"`
}

func encodePublished(p Published) []byte {
	head := publishedHead{
		ID: p.ID, Sequence: p.Sequence, Simulated: p.Simulated, Mechanism: p.Mechanism, Parameters: p.Parameters,
		Bound: p.Bound, Cost: p.Cost, Values: len(p.Values), Reals: len(p.Reals), Residues: len(p.Residues),
	}
	if p.Reals == nil {
		head.Reals = -1
	}
	var runs []byte
	for j := 0; j < len(p.Bound.Weight); {
		end := j + 1
		for end < len(p.Bound.Weight) && p.Bound.Weight[end] == p.Bound.Weight[j] {
			end++
		}
		runs = binary.AppendUvarint(runs, uint64(p.Bound.Weight[j]))
		runs = binary.AppendUvarint(runs, uint64(end-j))
		head.Runs++
		j = end
	}
	head.Bound.Weight = nil
	text, err := json.Marshal(head)
	if err != nil { // only if the unit is invalid, in a Published made by hand
		return nil
	}
	b := binary.AppendUvarint(nil, uint64(len(text)))
	b = append(append(b, text...), runs...)
	for _, v := range p.Values {
		b = binary.AppendVarint(b, v)
	}
	for _, x := range p.Reals {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
	}
	for _, x := range p.Residues {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, x[0]), x[1])
	}
	return b
}

// maxHead limits the JSON head; the longest real head is about 2 kB.
const maxHead = 1 << 16

// decodePublished reads canonical bytes and checks their claim. Lengths in the head are checked
// against the data before anything is allocated; there are at most as many weights as values.
func decodePublished(data []byte) (Published, error) {
	r := byteReader{data: data}
	n := r.uvarint()
	if n > maxHead {
		return Published{}, errors.New("the head is too long")
	}
	var head publishedHead
	if err := json.Unmarshal(r.take(int(n)), &head); err != nil {
		return Published{}, fmt.Errorf("read head: %w", err)
	}
	rest := len(data)
	if head.Values < 0 || head.Values > rest || head.Reals < -1 || head.Reals > rest/8 ||
		head.Residues < 0 || head.Residues > rest/16 || head.Runs < 0 || head.Runs > rest/2 ||
		head.Bound.Weight != nil {
		return Published{}, errors.New("the head's lengths do not fit the data")
	}
	p := Published{
		ID: head.ID, Sequence: head.Sequence, Simulated: head.Simulated, Mechanism: head.Mechanism, Parameters: head.Parameters,
		Bound: head.Bound, Cost: head.Cost,
	}
	for range head.Runs {
		w, times := r.uvarint(), r.uvarint()
		if times > uint64(max(head.Values, head.Reals, head.Residues)-len(p.Bound.Weight)) ||
			w > math.MaxInt64 {
			return Published{}, errors.New("the weights are more than the values")
		}
		for range times {
			p.Bound.Weight = append(p.Bound.Weight, int64(w))
		}
	}
	if head.Values > 0 {
		p.Values = make([]int64, head.Values)
	}
	for j := range p.Values {
		p.Values[j] = r.varint()
	}
	if head.Reals >= 0 {
		p.Reals = make([]float64, head.Reals)
		for j := range p.Reals {
			p.Reals[j] = math.Float64frombits(binary.BigEndian.Uint64(r.take(8)))
		}
	}
	if head.Residues > 0 {
		p.Residues = make([]Residue, head.Residues)
	}
	for j := range p.Residues {
		p.Residues[j] = Residue{binary.BigEndian.Uint64(r.take(8)),
			binary.BigEndian.Uint64(r.take(8))}
	}
	if r.failed || len(r.data) > 0 {
		return Published{}, errors.New("the data are cut off or too long")
	}
	if err := p.check(); err != nil {
		return Published{}, err
	}
	if string(encodePublished(p)) != string(data) {
		return Published{}, errors.New("the bytes are not canonical")
	}
	return p, nil
}

type byteReader struct {
	data   []byte
	failed bool
}

var noBytes [8]byte

// take returns the next n bytes. If fewer are left, it marks the reader failed and returns up to 8
// zeros.
func (br *byteReader) take(n int) []byte {
	if br.failed || n > len(br.data) {
		br.failed = true
		return noBytes[:min(n, len(noBytes))]
	}
	b := br.data[:n]
	br.data = br.data[n:]
	return b
}

func (br *byteReader) uvarint() uint64 {
	x, n := binary.Uvarint(br.data)
	if n <= 0 {
		br.failed = true
		return 0
	}
	br.data = br.data[n:]
	return x
}

func (br *byteReader) varint() int64 {
	x, n := binary.Varint(br.data)
	if n <= 0 {
		br.failed = true
		return 0
	}
	br.data = br.data[n:]
	return x
}

func (p Published) digest() [32]byte {
	b := encodePublished(p)
	b = append(b, p.EntryHash[:]...)
	return sha256.Sum256(b)
}

// IsUnchanged reports whether a ledger or ParsePublished built p and p is unchanged since.
func (p Published) IsUnchanged() bool {
	return p.sealed != [32]byte{} && p.sealed == p.digest()
}

const publishedVersion = 1

// MarshalBinary writes a version byte, the entry's hash and the canonical bytes of p, about two
// bytes a value. It refuses simulated answers and answers that were changed.
func (p Published) MarshalBinary() ([]byte, error) {
	if p.Simulated {
		return nil, fmt.Errorf("marshal published %q: it is simulated: %w", p.ID, ErrSimulationOnly)
	}
	if !p.IsUnchanged() {
		return nil, fmt.Errorf("marshal published %q: it is not what a ledger released; copy the values to change them", p.ID)
	}
	b := append([]byte{publishedVersion}, p.EntryHash[:]...)
	return append(b, encodePublished(p)...), nil
}

// ParsePublished reads the output of MarshalBinary. It refuses simulated answers, other versions,
// trailing bytes, invalid bounds, and a cost that differs from what the mechanism proves under
// the bound. It does not authenticate the writer: sign the bytes for that.
func ParsePublished(data []byte) (Published, error) {
	if len(data) < 33 || data[0] != publishedVersion {
		return Published{}, errors.New("parse published: not a release of version 1")
	}
	p, err := decodePublished(data[33:])
	if err != nil {
		return Published{}, fmt.Errorf("parse published: %w", err)
	}
	if p.Simulated {
		return Published{}, fmt.Errorf("parse published %q: it is simulated: %w", p.ID,
			ErrSimulationOnly)
	}
	p.EntryHash = [32]byte(data[1:33])
	p.sealed = p.digest()
	return p, nil
}
