package shares

import (
	"encoding/binary"
	"math/bits"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
)

// liar is a party that follows the draft (draft-irtf-cfrg-vdaf, sections 6 and 7) except that it
// measures any field elements and proves them as if they were bits. It is written independently of
// circl, as simply as possible, so it checks circl's prover too.
type liar struct {
	circuit
	seeds [128]byte // helper's share and blind, coordinator's blind, prover
	nonce [nonceSize]byte
}

// parts proves and splits measured elements, bits or not.
func (l liar) parts(measured fp128.Vec) Parts {
	helper, helperBlind, blind, prove := l.seeds[:32], l.seeds[32:64], l.seeds[64:96], l.seeds[96:]
	share := l.draw(1, helper, []byte{1}, len(measured))
	rest := make(fp128.Vec, len(measured))
	for i := range rest {
		rest[i].Sub(&measured[i], &share[i])
	}
	public := append(l.part(0, blind, rest), l.part(1, helperBlind, share)...)
	joint := l.draw(3, l.xof(6, make([]byte, 32), public, 32), []byte{1}, l.calls())
	proof := l.prove(measured, joint, l.draw(4, prove, []byte{1}, int(2*l.chunk)))
	mask := l.draw(2, helper, []byte{1, 1}, len(proof))
	proof.SubAssign(mask)
	head := append(append([]byte{}, l.nonce[:]...), public...)
	return Parts{
		append(append(append(append([]byte{}, head...), encode(rest)...), encode(proof)...), blind...),
		append(append(append([]byte{}, head...), helper...), helperBlind...),
	}
}

func (l liar) calls() int { return int((l.cells*l.bits + l.chunk - 1) / l.chunk) }

func (l liar) part(role byte, blind []byte, share fp128.Vec) []byte {
	binder := append(append([]byte{role}, l.nonce[:]...), encode(share)...)
	return l.xof(7, blind, binder, 32)
}

// prove evaluates the range check and proves its products: the wires as polynomials through their
// values at the roots of unity, and the polynomial of their products.
func (l liar) prove(measured, joint, seeds fp128.Vec) fp128.Vec {
	n := 1 << bits.Len(uint(l.calls()))
	wires := make([]fp128.Vec, 2*l.chunk)
	for w := range wires {
		wires[w] = make(fp128.Vec, n)
		wires[w][0] = seeds[w]
	}
	for call := range l.calls() {
		var power, one fp128.Fp
		power.SetOne()
		one.SetOne()
		for j := range int(l.chunk) {
			var x fp128.Fp
			if i := call*int(l.chunk) + j; i < len(measured) {
				x = measured[i]
			}
			power.MulAssign(&joint[call])
			wires[2*j][call+1].Mul(&power, &x)
			wires[2*j+1][call+1].Sub(&x, &one)
		}
	}
	products := make(fp128.Vec, 2*n-1)
	for j := 0; j < len(wires); j += 2 {
		a, b := interpolate(wires[j]), interpolate(wires[j+1])
		for i := range a {
			for k := range b {
				var t fp128.Fp
				t.Mul(&a[i], &b[k])
				products[i+k].AddAssign(&t)
			}
		}
	}
	return append(append(fp128.Vec{}, seeds...), products...)
}

// interpolate returns the polynomial with these values at the roots of unity, in order.
func interpolate(values fp128.Vec) fp128.Vec {
	n := len(values)
	var root, scale fp128.Fp
	root.SetRootOfUnityTwoN(uint(bits.Len(uint(n)) - 1))
	root.Inv(&root)
	scale.InvUint64(uint64(n))
	powers := make(fp128.Vec, n)
	powers[0].SetOne()
	for i := 1; i < n; i++ {
		powers[i].Mul(&powers[i-1], &root)
	}
	out := make(fp128.Vec, n)
	for k := range out {
		for i := range values {
			var t fp128.Fp
			t.Mul(&values[i], &powers[i*k%n])
			out[k].AddAssign(&t)
		}
		out[k].MulAssign(&scale)
	}
	return out
}

// draw returns n elements of the extendable output function.
func (l liar) draw(usage uint16, seed, binder []byte, n int) fp128.Vec {
	out := make(fp128.Vec, n)
	b := l.xof(usage, seed, binder, 16*n) // an element is refused once in 2⁵⁹
	if err := out.UnmarshalBinary(b); err != nil {
		panic(err)
	}
	return out
}

func (l liar) xof(usage uint16, seed, binder []byte, n int) []byte {
	m := binary.LittleEndian.AppendUint16(nil, uint16(8+len(l.context)))
	m = append(m, 12, 0)
	m = binary.BigEndian.AppendUint32(m, 3) // Prio3SumVec
	m = binary.BigEndian.AppendUint16(m, usage)
	m = append(append(m, l.context...), 32)
	return turboShake128(append(append(m, seed...), binder...), n)
}

func encode(v fp128.Vec) []byte {
	b, err := v.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return b
}

// turboShake128 is TurboSHAKE128 of RFC 9861 with domain byte 1: a sponge of rate 168 over the last
// twelve rounds of Keccak-f[1600] (FIPS 202, section 3.2).
func turboShake128(message []byte, n int) []byte {
	const rate = 168
	padded := append(append([]byte{}, message...), 1)
	for len(padded)%rate != 0 {
		padded = append(padded, 0)
	}
	padded[len(padded)-1] ^= 0x80
	var state [25]uint64
	for ; len(padded) > 0; padded = padded[rate:] {
		for i := range rate / 8 {
			state[i] ^= binary.LittleEndian.Uint64(padded[8*i:])
		}
		keccak(&state)
	}
	var out []byte
	for len(out) < n {
		for i := range rate / 8 {
			out = binary.LittleEndian.AppendUint64(out, state[i])
		}
		keccak(&state)
	}
	return out[:n]
}

// keccak runs rounds 12 to 23; lane (x, y) is a[x+5y].
func keccak(a *[25]uint64) {
	for round := 12; round < 24; round++ {
		var c, d [5]uint64
		for x := range 5 {
			c[x] = a[x] ^ a[x+5] ^ a[x+10] ^ a[x+15] ^ a[x+20]
		}
		for x := range 5 {
			d[x] = c[(x+4)%5] ^ bits.RotateLeft64(c[(x+1)%5], 1)
		}
		for i := range a {
			a[i] ^= d[i%5]
		}
		var b [25]uint64 // ρ and π
		b[0] = a[0]
		x, y := 1, 0
		for t := range 24 {
			to := (2*x + 3*y) % 5
			b[y+5*to] = bits.RotateLeft64(a[x+5*y], (t+1)*(t+2)/2)
			x, y = y, to
		}
		for i := range a { // χ
			row := i / 5 * 5
			a[i] = b[i] ^ (^b[row+(i+1)%5] & b[row+(i+2)%5])
		}
		a[0] ^= roundConstant(round)
	}
}

// roundConstant returns ι's constant, from the shift register of FIPS 202, algorithm 5.
func roundConstant(round int) (out uint64) {
	for j := range 7 {
		r := byte(1)
		for range (j + 7*round) % 255 {
			high := r >> 7
			r <<= 1
			r ^= high * 0x71
		}
		if r&1 == 1 {
			out |= 1 << (1<<j - 1)
		}
	}
	return out
}
