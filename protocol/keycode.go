package protocol

import (
	"errors"
	"math/big"
	"strings"
)

const (
	codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	codeLength  = 20
)

// KeyCode is a short text for keys, such as 7K3M-Q0XD-29TB-HHRN-5CWP. Two people who read the same
// code to each other by telephone know that both machines have the same keys in the same order,
// however the keys came there. Whoever types a code gets those keys and no others (PeerKey). The
// code is 95 bits of a hash, and a letter that checks the others: whoever wants other keys with the
// same code needs about 2^95 tries. Its letters are Crockford's base 32, which has no I, L, O and
// U.
func KeyCode(keys ...[]byte) string {
	d := NewFieldDigest("caucus key code 2")
	for _, k := range keys {
		d.Add(k)
	}
	digest := d.Digest()
	bits := new(big.Int).SetBytes(digest[:])
	var letters []byte
	for i := range codeLength - 1 {
		five := new(big.Int).Rsh(bits, uint(256-5*(i+1)))
		letters = append(letters, codeLetters[five.Uint64()&31])
	}
	return grouped(string(append(letters, checkLetter(string(letters)))))
}

func grouped(letters string) string {
	var groups []string
	for i := 0; i < len(letters); i += 4 {
		groups = append(groups, letters[i:i+4])
	}
	return strings.Join(groups, "-")
}

// checkLetter is Σ αᵏ·letter over GF(2⁵), with α a root of x⁵+x²+1. The powers differ and none is
// 0, so that one wrong letter changes the sum, and so do two neighbours in the wrong order.
func checkLetter(letters string) byte {
	sum := 0
	for i := range len(letters) {
		sum ^= strings.IndexByte(codeLetters, letters[i])
		if sum <<= 1; sum > 31 {
			sum ^= 0b100101
		}
	}
	return codeLetters[sum]
}

// ReadKeyCode reads a code as people type one: in either case, with or without signs between the
// letters, with the letter O for 0 and I or L for 1. is reports whether the text has a code's form.
// If so, an error says that the code was not read or typed right.
func ReadKeyCode(text string) (code string, is bool, err error) {
	as := strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1")
	letters := as.Replace(strings.ToUpper(text))
	if len(letters) != codeLength || strings.Trim(letters, codeLetters) != "" {
		return "", false, nil
	}
	if last := codeLength - 1; checkLetter(letters[:last]) != letters[last] {
		return "", true, errors.New("a letter of the code is wrong, or two are in the wrong order: " +
			"have the code read again")
	}
	return grouped(letters), true, nil
}
