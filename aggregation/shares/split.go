package shares

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/cloudflare/circl/vdaf/prio3/sumvec"
)

// ProofContext binds a contribution to a plan and a party. Under another context its proof fails.
type ProofContext [sha256.Size]byte

// NewProofContext returns a party's context: SHA-256 of a fixed name, the plan's hash and the
// party's name.
func NewProofContext(plan [32]byte, party string) ProofContext {
	h := sha256.New()
	h.Write([]byte("caucus shares 1"))
	h.Write(plan[:])
	h.Write([]byte(party))
	return ProofContext(h.Sum(nil))
}

// ErrPart is wrapped by every refusal of a part or message that cannot be read.
var ErrPart = errors.New("invalid share")

// Parts holds a party's uploads, by server: nonce (16 bytes), public share (64), the draft's input
// share.
type Parts [2][]byte

// CommonPart returns the common head of both parts: nonce and public share.
func CommonPart(part []byte) []byte { return part[:min(headSize, len(part))] }

// Split splits a vector of the form. The random bytes, 16 for the nonce and 128 for the shares,
// must come from the operating system. The same bytes give the same parts. The error for a vector
// of another form names no value. It shows a mistake in the program, because whoever makes a vector
// must have proved its form.
func (vf VectorForm) Split(c ProofContext, vector []int64, random io.Reader) (Parts, error) {
	if err := vf.Check(1); err != nil {
		return Parts{}, err
	}
	measured, ok := vf.measure(vector)
	if !ok {
		return Parts{}, fmt.Errorf("split vector: it is not of the form %+v", vf)
	}
	return vf.circuit(c).split(measured, random)
}

// measure shifts a vector to the proved range, which starts at 0.
func (vf VectorForm) measure(vector []int64) ([]uint64, bool) {
	if len(vector) != vf.Cells {
		return nil, false
	}
	measured, ok := make([]uint64, len(vector)), true
	for j, v := range vector {
		measured[j] = uint64(v - vf.MinCell)
		ok = ok && v >= vf.MinCell && measured[j]>>vf.CellBits == 0
	}
	for at := 0; vf.RowCells > 0 && at < len(vector); at += vf.RowCells {
		total := int64(0)
		for _, v := range vector[at : at+vf.RowCells] {
			total += v // can't wrap if each is in range: see Check
		}
		ok = ok && total == vf.RowTotal
	}
	return measured, ok
}

func (c circuit) split(measured []uint64, random io.Reader) (Parts, error) {
	vdaf, err := c.open()
	if err != nil {
		return Parts{}, fmt.Errorf("split vector: %w", err)
	}
	params := vdaf.Params()
	var nonce sumvec.Nonce
	seeds := make([]byte, params.RandSize())
	for _, b := range [][]byte{nonce[:], seeds} {
		if _, err := io.ReadFull(random, b); err != nil {
			return Parts{}, fmt.Errorf("draw shares: %w", err)
		}
	}
	public, inputs, err := vdaf.Shard(measured, &nonce, seeds)
	if err != nil {
		return Parts{}, fmt.Errorf("split vector: %w", err)
	}
	var parts Parts
	for r := range parts {
		share, err := inputs[r].MarshalBinary()
		if err != nil {
			return Parts{}, fmt.Errorf("split vector: %w", err)
		}
		parts[r] = append(append(append([]byte{}, nonce[:]...), public...), share...)
	}
	return parts, nil
}
