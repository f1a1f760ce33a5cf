package protocol

import (
	"math/big"
	"strings"
)

// KeyCode is a short text for keys, such as 7K3M-Q0XD-29TB-HHRN-5CWE. Two people who read the same
// code to each other by telephone know that both machines have the same keys in the same order,
// however the keys came there. The code is 100 bits of a hash: whoever wants other keys with the
// same code needs about 2^100 tries. Its letters are Crockford's base 32, which has no I, L, O and
// U.
func KeyCode(keys ...[]byte) string {
	const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	d := NewFields("caucus key code 1")
	for _, k := range keys {
		d.Add(k)
	}
	digest := d.Digest()
	bits := new(big.Int).SetBytes(digest[:])
	bits.Rsh(bits, 256-100)
	var code strings.Builder
	for i := range 20 {
		if i > 0 && i%4 == 0 {
			code.WriteByte('-')
		}
		five := new(big.Int).Rsh(bits, uint(5*(19-i)))
		code.WriteByte(letters[five.Uint64()&31])
	}
	return code.String()
}
