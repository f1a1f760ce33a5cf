package shares

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
	"github.com/cloudflare/circl/vdaf/prio3/sumvec"
)

// VectorForm says what a contribution's proof shows. It follows from a plan and its pool, so it is
// public.
type VectorForm struct {
	Cells int
	// Each cell is an integer from MinCell to MinCell + 2^CellBits − 1.
	CellBits int
	MinCell  int64
	// RowCells is the number of cells in a row. The cells of each row sum to RowTotal. 0 means that
	// there are no rows.
	RowCells int
	RowTotal int64
}

// BallotForm returns the form of counted ballots on the rows of a pool. With two classes it has one
// count per row, from 0 to 2^⌈log₂(ballots+1)⌉ − 1. With more it has a count for each class, and
// each row sums to ballots. So one ballot is proved to be exactly one vote per row.
func BallotForm(rows, classes, ballots int) VectorForm {
	f := VectorForm{Cells: rows, CellBits: bits.Len(uint(max(ballots, 0)))}
	if classes > 2 {
		f.Cells, f.RowCells, f.RowTotal = rows*classes, classes, int64(ballots)
	}
	return f
}

// IntegerForm returns the form of integers of magnitude at most limit. The proof covers the next
// power of two, −2^(b−1) to 2^(b−1) − 1 with 2^(b−1) > limit: a lying party can move each cell that
// far.
func IntegerForm(cells int, limit int64) VectorForm {
	b := bits.Len64(uint64(max(limit, 0))) + 1
	if b > maxBits {
		return VectorForm{Cells: cells, CellBits: b} // Check refuses this form
	}
	return VectorForm{Cells: cells, CellBits: b, MinCell: -1 << (b - 1)}
}

// CountForm returns the form of integers from 0 to limit. The proof covers up to the next power of
// two.
func CountForm(cells int, limit int64) VectorForm {
	return VectorForm{Cells: cells, CellBits: bits.Len64(uint64(max(limit, 1)))}
}

const (
	// maxBits keeps a cell in an int64.
	maxBits = 62
	// maxProved bounds a vector's bits, 16 bytes each in the coordinator's part: 64 MiB.
	maxProved = 1 << 22
	// maxParties is a study's limit: see study.Plan.
	maxParties = 1 << 30
)

// ErrForm is wrapped by every refusal of a form.
var ErrForm = errors.New("form of shares refused")

// modulus is p = 2¹²⁸ − 28·2⁶⁴ + 1, the order of the field (Field128 of the draft).
var modulus = new(big.Int).SetBytes(fp128.Fp{}.Order())

// Check refuses a form that cannot be proved, or whose sum could wrap.
//
// Proof note: each cell is in (−2^b, 2^b), so a sum over M parties is in (−M·2^b, M·2^b). Each of
// the two servers adds noise, which exceeds 2⁶² with probability below e^(−2¹³) at the largest
// scale (privacy's maxScaleBits); only decoding depends on this, not privacy. With M·2^b + 2·2⁶² <
// p/2 the sum with both noises is in (−p/2, p/2), where reading a residue as the integer nearest to
// zero is exact.
func (vf VectorForm) Check(parties int64) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrForm, fmt.Sprintf(format, args...))
	}
	switch {
	case vf.Cells < 1:
		return fail("it has %d cells, at least one is needed", vf.Cells)
	case vf.CellBits < 1 || vf.CellBits > maxBits:
		return fail("a cell has %d bits, give 1 to %d", vf.CellBits, maxBits)
	case vf.Cells > maxProved/vf.CellBits:
		return fail("%d cells of %d bits are more than the %d bits that are proved at once: use fewer rows, classes or features", vf.Cells, vf.CellBits, maxProved)
	case vf.MinCell != 0 && vf.MinCell != -1<<(vf.CellBits-1):
		return fail("the least value of a cell is %d, it must be 0 or −2^(bits−1)", vf.MinCell)
	case vf.RowCells < 0 || vf.RowCells > 0 && vf.Cells%vf.RowCells != 0:
		return fail("rows of %d cells do not divide %d cells", vf.RowCells, vf.Cells)
	case vf.RowCells == 0 && vf.RowTotal != 0 || vf.RowTotal < 0:
		return fail("rows of %d cells that add up to %d", vf.RowCells, vf.RowTotal)
	case vf.RowCells > 0 && (vf.MinCell != 0 || vf.CellBits+bits.Len(uint(vf.RowCells)) > maxBits):
		return fail("rows of %d cells of %d bits from %d, they must be of counts that an int64 can add", vf.RowCells, vf.CellBits, vf.MinCell)
	case parties < 1 || parties > maxParties:
		return fail("%d parties, give 1 to %d", parties, maxParties)
	}
	if wraps(new(big.Int).Lsh(big.NewInt(parties), uint(vf.CellBits))) {
		return fail("%d parties of %d bits make a sum wrap", parties, vf.CellBits)
	}
	return nil
}

// wraps reports whether a sum of magnitude most, with both noises, can reach p/2. It overwrites
// most.
func wraps(most *big.Int) bool {
	most.Add(most, new(big.Int).Lsh(big.NewInt(1), 63))
	return most.Lsh(most, 1).Cmp(modulus) >= 0
}

// circuit holds the parameters of a Prio3SumVec. Each use opens a new one, because use changes its
// state.
type circuit struct {
	cells, bits, chunk uint
	context            []byte
}

// circuit returns the form's parameters. The chunk √bits gives the shortest proof
// (draft-irtf-cfrg-vdaf).
func (vf VectorForm) circuit(c ProofContext) circuit {
	return circuit{uint(vf.Cells), uint(vf.CellBits),
		max(1, uint(math.Sqrt(float64(vf.Cells*vf.CellBits)))),
		c[:]}
}

func (c circuit) open() (*sumvec.SumVec, error) {
	return sumvec.New(2, c.cells, c.bits, c.chunk, c.context)
}

// Role is one of the two servers.
type Role uint8

// Numbers are the aggregators' in Prio3: 0 leads and receives its share whole, 1 receives a seed
// from which its share follows (see PartSize).
const (
	Coordinator Role = iota
	Helper
)

// String returns "coordinator" or "helper"; each other number reads as "coordinator" too.
func (r Role) String() string {
	if r == Helper {
		return "helper"
	}
	return "coordinator"
}

const (
	nonceSize  = 16
	seedSize   = 32
	headSize   = nonceSize + 2*seedSize // size of a part's head: nonce and public share
	digestSize = 32
)

// PartSize returns the size in bytes of a party's part for a server. The coordinator's part grows
// with the form, the helper's does not. The form must pass Check.
func (vf VectorForm) PartSize(r Role) int {
	if r == Helper {
		return headSize + 2*seedSize
	}
	c := vf.circuit(ProofContext{})
	return headSize + fp128.Size*int(c.cells*c.bits+c.proof()) + seedSize
}

// ShareSize returns the size in bytes of a checked share, or of a sum of shares.
func (vf VectorForm) ShareSize() int { return fp128.Size * vf.Cells }
