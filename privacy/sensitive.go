package privacy

import (
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
)

// limit is the largest magnitude of inputs and noisy outputs: both are clamped to [−2⁶¹, 2⁶¹].
//
// This is sound and never causes a refusal that depends on a value. Clamping the input moves no two
// vectors further apart in any coordinate, so L1, L2sq and Cells still hold. (KeepsSum holds only
// for vectors within the limit; a zero-sum mechanism must require a public total within it.)
// Clamping the output is post-processing of the exact, unbounded sum v + noise. A sampler may
// itself stop at ±2⁶²: then |v + noise| ≥ 2⁶¹ whatever v is, so the clamped result is the same as
// with the exact noise, and int64 arithmetic cannot overflow.
const (
	limit      = int64(1) << 61
	noiseLimit = int64(1) << 62
)

// Sensitive is a private vector that only Ledger.Release can open. It prints as "sensitive" in
// every format and cannot be marshalled.
type Sensitive struct {
	// open is a closure, because fmt and reflection print a pointer's target if this struct is an
	// unexported field of another struct, where its methods cannot be called. Of a function they
	// print only the address.
	open func() *secret
}

func wrap(s *secret) Sensitive { return Sensitive{func() *secret { return s }} }

func (s Sensitive) given() bool { return s.open != nil }

// Residue is an integer below a field's modulus: its high and its low 64 bits.
type Residue = [2]uint64

type secret struct {
	values []int64
	reals  []float64 // literal vectors only
	bound  Bound
	source Digest

	residues []Residue // shares only: see NewSensitiveShare
	modulus  *big.Int  // residues are below it
}

// NewSensitive wraps an integer vector with the bound proven for it. Values and weights are copied.
// Errors depend on the bound and the length only, never on the values.
func NewSensitive(values []int64, b Bound) (Sensitive, error) {
	if len(values) == 0 {
		return Sensitive{}, errors.New("wrap sensitive vector: it has no coordinates")
	}
	if err := b.Validate(len(values)); err != nil {
		return Sensitive{}, fmt.Errorf("wrap sensitive vector: %w", err)
	}
	v := slices.Clone(values)
	for j := range v {
		v[j] = clamp(v[j], limit)
	}
	return wrap(&secret{values: v, bound: b.clone()}), nil
}

// NewUnprovenVector wraps a real vector for a paper's literal sampler. No bound is proven in
// floating point, so only a simulation ledger releases it.
func NewUnprovenVector(values []float64, u Unit) Sensitive {
	return wrap(&secret{reals: append([]float64{}, values...), bound: Bound{Unit: u}})
}

// WithSource returns s with a digest of its source, such as the contributions in a sum or the
// matrix that multiplied them. The digest is one of the terms of the release: the same id with
// another source is ErrConflict and draws nothing. The ledger stores it salted, so that nobody can
// test guesses against it.
func (s Sensitive) WithSource(source Digest) Sensitive {
	if !s.given() {
		return s
	}
	with := *s.open()
	with.source = source
	return wrap(&with)
}

// Len returns the public number of coordinates.
func (s Sensitive) Len() int {
	if !s.given() {
		return 0
	}
	return max(len(s.open().values), len(s.open().reals), len(s.open().residues))
}

// Bound returns a copy of the public bound.
func (s Sensitive) Bound() Bound {
	if !s.given() {
		return Bound{}
	}
	return s.open().bound.clone()
}

var errSensitive = errors.New("marshal sensitive vector: it leaves only through Ledger.Release")

// Format, String, GoString and LogValue show "sensitive", whatever the verb and flags.
func (s Sensitive) Format(f fmt.State, _ rune) { fmt.Fprint(f, "sensitive") }

// String returns "sensitive", so that text made from s by mistake carries no value.
func (s Sensitive) String() string { return "sensitive" }

// GoString returns "sensitive", against the verb %#v, which would print private fields.
func (s Sensitive) GoString() string { return "sensitive" }

// LogValue returns "sensitive", whatever handler writes the log.
func (s Sensitive) LogValue() slog.Value { return slog.StringValue("sensitive") }

// MarshalText, MarshalJSON, MarshalBinary and MarshalYAML always fail. encoding/xml and others
// use MarshalText, encoding/gob uses MarshalBinary.
func (s Sensitive) MarshalText() ([]byte, error) { return nil, errSensitive }

// MarshalJSON always fails, also for the zero Sensitive.
func (s Sensitive) MarshalJSON() ([]byte, error) { return nil, errSensitive }

// MarshalBinary always fails, and stops encoding/gob too.
func (s Sensitive) MarshalBinary() ([]byte, error) { return nil, errSensitive }

// MarshalYAML always fails. It has the form that YAML encoders look for.
func (s Sensitive) MarshalYAML() (any, error) { return nil, errSensitive }

func clamp(v, limit int64) int64 { return max(-limit, min(limit, v)) }
