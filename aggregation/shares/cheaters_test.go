package shares

import (
	"bytes"
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
)

// elements returns integers as field elements.
func elements(values ...int64) fp128.Vec {
	out := make(fp128.Vec, len(values))
	for i, v := range values {
		x := new(big.Int).Mod(big.NewInt(v), modulus)
		b := make([]byte, fp128.Size)
		x.FillBytes(b)
		for k := range len(b) / 2 {
			b[k], b[len(b)-1-k] = b[len(b)-1-k], b[k]
		}
		if err := out[i].UnmarshalBinary(b); err != nil {
			panic(err)
		}
	}
	return out
}

// bitsOf returns the honest bits of a vector.
func bitsOf(f VectorForm, vector []int64) (out fp128.Vec) {
	for _, v := range vector {
		for b := range f.CellBits {
			out = append(out, elements((v-f.MinCell)>>b&1)...)
		}
	}
	return out
}

// TestLiars: a party that follows the protocol except for its vector, with the best possible proof,
// is refused by both servers. The other parties' contributions count.
func TestLiars(t *testing.T) {
	two, five, signed := BallotForm(7, 2, 1), BallotForm(4, 5, 1), IntegerForm(5, 100)
	shards := BallotForm(4, 3, 6)
	row := func(values ...int64) []int64 {
		v := make([]int64, five.Cells)
		for at := 0; at < len(v); at += five.RowCells {
			v[at] = 1
		}
		copy(v, values)
		return v
	}
	half := new(big.Int).Rsh(modulus, 1) // (p−1)/2: twice it wraps to −1
	wraps := bitsOf(two, make([]int64, two.Cells))
	wraps[0] = wrapped(half)
	inverse := bitsOf(signed, make([]int64, signed.Cells))
	inverse[0].InvUint64(2) // 1/2 in the field
	for name, c := range map[string]struct {
		form     VectorForm
		measured fp128.Vec
		refused  bool
	}{
		"an honest one":                       {two, bitsOf(two, []int64{0, 1, 1, 0, 1, 0, 0}), false},
		"an honest one of five classes":       {five, bitsOf(five, row()), false},
		"honest sums":                         {signed, bitsOf(signed, []int64{-100, 100, 0, 1, -1}), false},
		"honest shards":                       {shards, bitsOf(shards, []int64{6, 0, 0, 1, 2, 3, 0, 6, 0, 2, 2, 2}), false},
		"a vote of 2":                         {two, elements(2, 0, 1, 0, 0, 0, 0), true},
		"a vote of −1":                        {two, elements(-1, 0, 1, 0, 0, 0, 0), true},
		"a vote of a million":                 {two, elements(0, 0, 0, 0, 0, 0, 1_000_000), true},
		"a field element that wraps":          {two, wraps, true},
		"two wrongs that cancel":              {two, elements(2, -1, 0, 0, 0, 0, 0), true},
		"two votes on a row":                  {five, bitsOf(five, row(1, 1, 0, 0, 0)), true},
		"no vote on a row":                    {five, bitsOf(five, row(0, 0, 0, 0, 0)), true},
		"two votes on a row, none on another": {five, bitsOf(five, row(1, 1, 0, 0, 0, 0, 0, 0, 0, 0)), true},
		"a vote of 2 and one of −1 on a row":  {five, append(elements(2, -1, 0, 0, 0), bitsOf(five, row())[5:]...), true},
		"a bit of 2 in a sum":                 {signed, append(elements(2), bitsOf(signed, make([]int64, 5))[1:]...), true},
		"a bit of one half in a sum":          {signed, inverse, true},
		"seven of six shards":                 {shards, bitsOf(shards, []int64{7, 0, 0, 6, 0, 0, 6, 0, 0, 6, 0, 0}), true},
		"five of six shards":                  {shards, bitsOf(shards, []int64{5, 0, 0, 6, 0, 0, 6, 0, 0, 6, 0, 0}), true},
	} {
		t.Run(name, func(t *testing.T) {
			l := liar{circuit: c.form.circuit(testContext)}
			seeded(uint64(len(name))).Read(l.seeds[:])
			_, errs := both(c.form, testKey, twice(testContext), l.parts(c.measured))
			for r, err := range errs {
				switch {
				case c.refused && !errors.Is(err, ErrProof):
					t.Errorf("the %v says %v, want a refusal by proof", Role(r), err)
				case !c.refused && err != nil:
					t.Errorf("the %v refuses: %v", Role(r), err)
				}
			}
		})
	}
}

func wrapped(x *big.Int) (e fp128.Fp) {
	b := make([]byte, fp128.Size)
	for k, v := range x.FillBytes(make([]byte, fp128.Size)) {
		b[fp128.Size-1-k] = v
	}
	if err := e.UnmarshalBinary(b); err != nil {
		panic(err)
	}
	return e
}

// TestStolenAndSwapped: parts of another party or study, replayed, mixed, cut or changed, give no
// share at either server.
func TestStolenAndSwapped(t *testing.T) {
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			mine := must(f.Split(testContext, drawn(f, rng), seeded(1)))
			again := must(f.Split(testContext, drawn(f, rng), seeded(2)))
			other := NewProofContext([32]byte{9}, "hospital-b")
			elsewhere := NewProofContext([32]byte{8}, "hospital-a")
			theirs := must(f.Split(other, drawn(f, rng), seeded(3)))
			swappedHead := func(from, head []byte) []byte {
				return append(bytes.Clone(head[:headSize]), from[headSize:]...)
			}
			nonce := func(part []byte) []byte {
				p := bytes.Clone(part)
				p[0] ^= 1
				return p
			}
			changed := func(part []byte, at int) []byte {
				p := bytes.Clone(part)
				p[at] ^= 1
				return p
			}
			cases := map[string]struct {
				contexts [2]ProofContext
				parts    Parts
			}{
				"another party's":                   {twice(testContext), theirs},
				"one's own as another's":            {twice(other), mine},
				"in another study":                  {twice(elsewhere), mine},
				"two studies at once":               {[2]ProofContext{testContext, elsewhere}, mine},
				"the helper's of another upload":    {twice(testContext), Parts{mine[0], again[1]}},
				"the coordinator's of another":      {twice(testContext), Parts{again[0], mine[1]}},
				"another's helper part, own head":   {twice(testContext), Parts{mine[0], swappedHead(again[1], mine[1])}},
				"another's coordinator's, own head": {twice(testContext), Parts{swappedHead(again[0], mine[0]), mine[1]}},
				"another nonce":                     {twice(testContext), Parts{nonce(mine[0]), nonce(mine[1])}},
				"two nonces":                        {twice(testContext), Parts{mine[0], nonce(mine[1])}},
				"a changed public share":            {twice(testContext), Parts{changed(mine[0], nonceSize), changed(mine[1], nonceSize)}},
				"a public share of one's own":       {twice(testContext), Parts{mine[0], changed(mine[1], nonceSize)}},
				"a changed cell":                    {twice(testContext), Parts{changed(mine[0], headSize), mine[1]}},
				"a changed proof":                   {twice(testContext), Parts{changed(mine[0], len(mine[0])-seedSize-fp128.Size), mine[1]}},
				"a changed blind":                   {twice(testContext), Parts{changed(mine[0], len(mine[0])-1), mine[1]}},
				"a changed seed":                    {twice(testContext), Parts{mine[0], changed(mine[1], headSize)}},
				"a changed blind of the helper's":   {twice(testContext), Parts{mine[0], changed(mine[1], len(mine[1])-1)}},
			}
			for what, c := range cases {
				out, errs := both(f, testKey, c.contexts, c.parts)
				for r, err := range errs {
					if !errors.Is(err, ErrProof) || out[r].elements != nil {
						t.Errorf("%s: the %v says %v, want a refusal by proof and no share", what, Role(r), err)
					}
				}
			}
			for r, part := range mine {
				for _, n := range []int{0, 1, headSize, len(part) - 1} {
					if _, err := f.Prepare(testKey, testContext, Role(r), part[:n]); !errors.Is(err,
						ErrPart) {
						t.Errorf("a part cut to %d bytes: %v", n, err)
					}
				}
				if _, err := f.Prepare(testKey, testContext, Role(r),
					append(bytes.Clone(part), 0)); !errors.Is(err, ErrPart) {
					t.Errorf("a part that is too long: %v", err)
				}
				if _, err := f.Prepare(testKey, testContext, Role(1-r), part); !errors.Is(err,
					ErrPart) {
					t.Errorf("a part for the other server: %v", err)
				}
			}
			large := bytes.Clone(mine[0])
			for k := range fp128.Size {
				large[headSize+k] = 0xff // 2¹²⁸ − 1 is no element
			}
			if _, err := f.Prepare(testKey, testContext, Coordinator, large); !errors.Is(err,
				ErrPart) {
				t.Errorf("an element above the modulus: %v", err)
			}
		})
	}
}

// TestOtherServer: a message that is not the other server's for the same part gives no share: cut,
// made under another key, a server's own message, or of another party.
func TestOtherServer(t *testing.T) {
	for name, f := range forms() {
		rng := rand.New(rand.NewPCG(8, 8))
		parts := must(f.Split(testContext, drawn(f, rng), seeded(1)))
		prepared := func(r Role, key Key) *Preparation {
			return must(f.Prepare(key, testContext, r, parts[r]))
		}
		for r := Coordinator; r <= Helper; r++ {
			honest := prepared(1-r, testKey).Message()
			wrong := map[string][]byte{
				"cut":            honest[:len(honest)-1],
				"nothing":        nil,
				"its own":        prepared(r, testKey).Message(),
				"of another key": prepared(1-r, Key{5}).Message(),
				"of other parts": append([]byte{honest[0] ^ 1}, honest[1:]...), // as it says
				"of zeros":       make([]byte, len(honest)),
				"zeros, bound":   append(bytes.Clone(honest[:digestSize]), make([]byte, len(honest)-digestSize)...),
				"no elements":    append(bytes.Clone(honest[:digestSize]), bytes.Repeat([]byte{0xff}, len(honest)-digestSize)...),
			}
			for what, m := range wrong {
				p := prepared(r, testKey)
				if out, err := p.Finish(m); !errors.Is(err, ErrProof) && !errors.Is(err, ErrPart) ||
					out.elements != nil {
					t.Errorf("%s: a message that is %s: %v", name, what, err)
				}
				if _, err := p.Finish(honest); err != nil { // a refusal spoils nothing
					t.Errorf("%s: after a message that is %s the honest one is refused: %v", name, what, err)
				}
				if _, err := p.Finish(honest); err == nil {
					t.Errorf("%s: one preparation gave two shares", name)
				}
			}
			if !bytes.Equal(prepared(1-r, testKey).Message(), honest) {
				t.Errorf("%s: the same part under the same key has two messages", name)
			}
		}
	}
}

// TestRowsAlone: the check of rows refuses every error of one or two in two rows, and accepts
// correct rows, under any key.
func TestRowsAlone(t *testing.T) {
	f := VectorForm{Cells: 6, CellBits: 3, RowCells: 3, RowTotal: 2}
	for code := range 3 * 3 * 3 * 3 * 3 * 3 {
		v := make([]int64, 6)
		for j, c := 0, code; j < 6; j, c = j+1, c/3 {
			v[j] = int64(c % 3)
		}
		right := v[0]+v[1]+v[2] == 2 && v[3]+v[4]+v[5] == 2
		key := Key{byte(code), byte(code >> 8)}
		mask := elements(int64(code), 5, -7, 11, -13, 17)
		rest := elements(v...)
		rest.SubAssign(mask)
		c := must(f.rowCheck(Coordinator, key, testContext, make([]byte, nonceSize), rest))
		h := must(f.rowCheck(Helper, key, testContext, make([]byte, nonceSize), mask))
		c.AddAssign(&h)
		if c.IsZero() != right {
			t.Fatalf("%v: passes %v, want %v", v, c.IsZero(), right)
		}
	}
}
