package shares

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
	"github.com/cloudflare/circl/vdaf/prio3/sumvec"
	"pgregory.net/rapid"
)

func seeded(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	return rand.NewChaCha8(key)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// both prepares both parts and finishes at both servers.
func both(f VectorForm, key Key, contexts [2]ProofContext, parts Parts) (out [2]SecretShare,
	errs [2]error) {
	var p [2]*Preparation
	for r := range p {
		if p[r], errs[r] = f.Prepare(key, contexts[r], Role(r), parts[r]); errs[r] != nil {
			return out, [2]error{errs[r], errs[r]} // no message, so the other cannot finish
		}
	}
	for r := range p {
		out[r], errs[r] = p[r].Finish(p[1-r].Message())
	}
	return out, errs
}

var (
	testKey     = Key{1, 2, 3}
	testContext = NewProofContext([32]byte{9}, "hospital-a")
)

func twice(c ProofContext) [2]ProofContext { return [2]ProofContext{c, c} }

// forms returns small examples of the forms that studies use.
func forms() map[string]VectorForm {
	return map[string]VectorForm{
		"two classes":                  BallotForm(23, 2, 1),
		"two classes, seven ballots":   BallotForm(23, 2, 7),
		"five classes":                 BallotForm(9, 5, 1),
		"five classes, twelve ballots": BallotForm(9, 5, 12),
		"signed sums":                  IntegerForm(17, 1_000_000),
		"one cell":                     IntegerForm(1, 1),
		"the largest cells":            IntegerForm(3, 1<<61-1),
	}
}

// drawn returns a random vector of the form.
func drawn(f VectorForm, rng *rand.Rand) []int64 {
	v := make([]int64, f.Cells)
	for j := range v {
		v[j] = f.MinCell + rng.Int64N(1<<f.CellBits)
	}
	for at := 0; f.RowCells > 0 && at < len(v); at += f.RowCells {
		clear(v[at : at+f.RowCells])
		for range f.RowTotal {
			v[at+rng.IntN(f.RowCells)]++
		}
	}
	return v
}

// TestSumsAreExact: for any vectors, the two servers' sums add up to the exact sum of the vectors.
func TestSumsAreExact(t *testing.T) {
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint64().Draw(t, "seed")
				parties := rapid.IntRange(1, 4).Draw(t, "parties")
				rng := rand.New(rand.NewPCG(seed, 1))
				if err := f.Check(int64(parties)); err != nil {
					t.Fatal(err)
				}
				want, wide := make([]int64, f.Cells), make([]*big.Int, f.Cells)
				for j := range wide {
					wide[j] = new(big.Int)
				}
				sums := [2]SecretShare{f.NewSum(), f.NewSum()}
				for i := range parties {
					v := drawn(f, rng)
					for j, x := range v {
						wide[j].Add(wide[j], big.NewInt(x))
					}
					c := NewProofContext([32]byte{9}, fmt.Sprint(i))
					out, errs := both(f, testKey, twice(c),
						must(f.Split(c, v, seeded(seed+uint64(i)))))
					for r := range out {
						if errs[r] != nil {
							t.Fatalf("an honest contribution is refused by the %v: %v", Role(r),
								errs[r])
						}
						if err := sums[r].Add(out[r]); err != nil {
							t.Fatal(err)
						}
						// as after a restart
						sums[r] = must(f.ParseShare(must(sums[r].MarshalBinary())))
					}
				}
				for j := range want { // Combine cuts at 2⁶¹
					want[j] = min(max(wide[j].Int64(), -largest), largest)
					if !wide[j].IsInt64() {
						want[j] = largest * int64(wide[j].Sign())
					}
				}
				if got := must(Combine(must(sums[0].Residues()),
					must(sums[1].Residues()))); !slices.Equal(got, want) {
					t.Fatalf("the sum is %v, want %v", got, want)
				}
			})
		})
	}
}

// TestLeastAndMost: cells of all 0 bits and of all 1 bits, the ends of the proved range.
func TestLeastAndMost(t *testing.T) {
	f := IntegerForm(4, 100) // 8 bits: −128..127
	v := []int64{-128, 127, -100, 0}
	out, errs := both(f, testKey, twice(testContext), must(f.Split(testContext, v, seeded(1))))
	if errs != [2]error{} {
		t.Fatal(errs)
	}
	if got := must(Combine(must(out[0].Residues()), must(out[1].Residues()))); !slices.Equal(got,
		v) {
		t.Errorf("combined %v, want %v", got, v)
	}
	for _, wrong := range [][]int64{{-129, 0, 0, 0}, {128, 0, 0, 0}, {math.MinInt64, 0, 0, 0},
		{math.MaxInt64, 0, 0, 0}, {0, 0, 0}} {
		if _, err := f.Split(testContext, wrong, seeded(1)); err == nil {
			t.Errorf("%v was split, which is not of the form", wrong)
		}
	}
	k := BallotForm(2, 3, 1)
	for _, wrong := range [][]int64{{1, 1, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 0}, {2, 0, 0, 1, 0, 0},
		{1, 1, -1, 1, 0, 0}} {
		if _, err := k.Split(testContext, wrong, seeded(1)); err == nil {
			t.Errorf("%v was split, which has not one vote a row", wrong)
		}
	}
}

// TestCheck: forms that cannot be proved or could wrap are refused, with a reason.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		form    VectorForm
		parties int64
		says    string
	}{
		"no cells":           {VectorForm{CellBits: 1}, 1, "0 cells"},
		"no bits":            {VectorForm{Cells: 1}, 1, "0 bits"},
		"too many bits":      {VectorForm{Cells: 1, CellBits: 63}, 1, "63 bits"},
		"the largest int64":  {IntegerForm(1, math.MaxInt64), 1, "64 bits"},
		"too large":          {BallotForm(1<<20, 10, 1), 1, "proved at once"},
		"another least":      {VectorForm{Cells: 1, CellBits: 3, MinCell: -3}, 1, "least value"},
		"rows do not divide": {VectorForm{Cells: 7, CellBits: 1, RowCells: 2, RowTotal: 1}, 1, "do not divide"},
		"signed rows":        {VectorForm{Cells: 4, CellBits: 2, MinCell: -2, RowCells: 2}, 1, "counts"},
		"rows that wrap":     {VectorForm{Cells: 4, CellBits: 61, RowCells: 4}, 1, "counts"},
		"a total of no rows": {VectorForm{Cells: 4, CellBits: 1, RowTotal: 1}, 1, "add up"},
		"no parties":         {BallotForm(4, 2, 1), 0, "0 parties"},
		"too many parties":   {BallotForm(4, 2, 1), 1 << 31, "parties"},
	} {
		if err := c.form.Check(c.parties); !errors.Is(err, ErrForm) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.says)
		}
	}
	for name, f := range forms() {
		if err := f.Check(maxParties); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The sums of every accepted form stay below half the modulus.
		most := new(big.Int).Lsh(big.NewInt(maxParties), uint(f.CellBits))
		if most.Add(most, new(big.Int).Lsh(big.NewInt(1), 63)).Cmp(new(big.Int).Rsh(modulus,
			1)) >= 0 {
			t.Errorf("%s: it could wrap", name)
		}
	}
}

// TestMatrix: for any matrix, the images of both shares add up to the image over the integers. A
// matrix that could make a sum wrap is refused.
func TestMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		m := Matrix{Rows: 1 + rng.IntN(6), Width: 1 + rng.IntN(4), Columns: 1 + rng.IntN(3)}
		a := make([][]int64, m.Rows)
		for i := range a {
			for range m.Width {
				a[i] = append(a[i], rng.Int64N(1<<21)-1<<20)
			}
		}
		m.Row = func(i int) []int64 { return a[i] }
		f := IntegerForm(m.Rows*m.Columns, 1000)
		if err := m.Check(f, 1<<30); err != nil {
			t.Fatal(err)
		}
		v, want := drawn(f, rng), make([]int64, m.Width*m.Columns)
		for cell, x := range v {
			for j, factor := range a[cell/m.Columns] {
				want[j*m.Columns+cell%m.Columns] += factor * x
			}
		}
		out, errs := both(f, testKey, twice(testContext), must(f.Split(testContext, v, seeded(3))))
		if errs != [2]error{} {
			t.Fatal(errs)
		}
		for r := range out {
			out[r] = must(m.ApplyToShare(out[r]))
		}
		if got := must(Combine(must(out[0].Residues()),
			must(out[1].Residues()))); !slices.Equal(got, want) {
			t.Fatalf("the image is %v, want %v", got, want)
		}
	})
	largest := Matrix{Rows: 2, Width: 1, Columns: 1, Row: func(int) []int64 {
		return []int64{math.MinInt64}
	}}
	f := VectorForm{Cells: 2, CellBits: 62, MinCell: -1 << 61}
	// 2·2⁶³·2⁶² is 2¹²⁶ for one party, 2¹²⁷ for two, and p/2 is between.
	if err := largest.Check(f, 1); err != nil {
		t.Error(err)
	}
	if err := largest.Check(f, 2); !errors.Is(err, ErrForm) ||
		!strings.Contains(err.Error(), "matrix") {
		t.Errorf("a matrix that could wrap: %v", err)
	}
	if err := largest.Check(f, 0); !errors.Is(err, ErrForm) {
		t.Errorf("no parties: %v", err)
	}
	if _, err := largest.ApplyToShare(UnhiddenShare([]int64{1, 2, 3})); err == nil {
		t.Error("a share of another length was multiplied")
	}
	if got := must(Combine(must(must(largest.ApplyToShare(UnhiddenShare([]int64{1,
		-1}))).Residues()),
		make([][2]uint64, 1))); got[0] != 0 {
		t.Errorf("the least integer times 1 and −1 is %d", got[0])
	}
}

// messageSize returns the size in bytes of a server's message about a contribution.
func messageSize(f VectorForm) int {
	size := digestSize + fp128.Size*int(2+2*f.circuit(ProofContext{}).chunk) + seedSize
	if f.RowCells > 0 {
		size += fp128.Size
	}
	return size
}

// TestSizes: sizes depend on the form alone, and equal PartSize, ShareSize and messageSize.
func TestSizes(t *testing.T) {
	for name, f := range forms() {
		for seed := range uint64(3) {
			parts := must(f.Split(testContext, drawn(f, rand.New(rand.NewPCG(seed, 0))),
				seeded(seed)))
			for r, part := range parts {
				if len(part) != f.PartSize(Role(r)) {
					t.Errorf("%s: the %v's part has %d bytes, PartSize says %d", name, Role(r), len(part), f.PartSize(Role(r)))
				}
				p := must(f.Prepare(testKey, testContext, Role(r), part))
				if len(p.Message()) != messageSize(f) {
					t.Errorf("%s: a message has %d bytes, messageSize says %d", name,
						len(p.Message()), messageSize(f))
				}
			}
		}
		if got := len(must(f.NewSum().MarshalBinary())); got != f.ShareSize() {
			t.Errorf("%s: a sum has %d bytes, ShareSize says %d", name, got, f.ShareSize())
		}
	}
}

// TestOneShareSaysNothing: for two vectors as far apart as possible, the bytes that either server
// receives are uniform. With 255 degrees of freedom the statistic exceeds 500 with probability
// below 1e-17, for each of eight.
func TestOneShareSaysNothing(t *testing.T) {
	f := BallotForm(3000, 2, 1)
	for vote := range int64(2) {
		v := make([]int64, f.Cells)
		for j := range v {
			v[j] = vote
		}
		parts := must(f.Split(testContext, v, seeded(uint64(vote))))
		for r, part := range parts {
			held := part[headSize:] // the coordinator's share of vector and proof
			if Role(r) == Helper {
				held = encode(must(f.Prepare(testKey, testContext, Helper, part)).share)
			}
			var counts [256]float64 // p is 2¹²⁸ but for 2⁶⁹, so bytes are uniform but for 2⁻⁵⁹
			for _, b := range held {
				counts[b]++
			}
			total, chi := 0., 0.
			for _, n := range counts {
				total += n
			}
			for _, n := range counts {
				chi += (n - total/256) * (n - total/256) / (total / 256)
			}
			if chi > 450 {
				t.Errorf("votes of %d: bytes of the %v are not uniform: χ² = %.0f with 255 degrees of freedom", vote, Role(r), chi)
			}
		}
	}
}

// vector is a test vector of the draft, as circl has it.
type vector struct {
	Ctx       string   `json:"ctx"`
	Key       string   `json:"verify_key"`
	Shares    int      `json:"shares"`
	Length    uint     `json:"length"`
	Bits      uint     `json:"bits"`
	Chunk     uint     `json:"chunk_length"`
	AggShares []string `json:"agg_shares"`
	AggResult []int64  `json:"agg_result"`
	Prep      []struct {
		Measurement []uint64   `json:"measurement"`
		Nonce       string     `json:"nonce"`
		Rand        string     `json:"rand"`
		Public      string     `json:"public_share"`
		Inputs      []string   `json:"input_shares"`
		PrepShares  [][]string `json:"prep_shares"`
		OutShares   [][]string `json:"out_shares"`
	} `json:"prep"`
}

// TestVectorsOfTheDraft: circl and this test's own prover reproduce the draft's test vectors byte
// for byte: parts, messages and output shares of two servers. The vectors are read from circl's
// module, whose licence allows their use.
func TestVectorsOfTheDraft(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/cloudflare/circl").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := must(filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "vdaf", "prio3",
		"testdata", "Prio3SumVec_*.json.gz")))
	checked := 0
	for _, name := range files {
		file := must(os.Open(name))
		var v vector
		if err := json.NewDecoder(must(gzip.NewReader(file))).Decode(&v); err != nil {
			t.Fatal(err)
		}
		file.Close()
		if v.Shares != 2 { // Caucus has two servers
			continue
		}
		unhex := func(s string) []byte { return must(hex.DecodeString(s)) }
		c := circuit{v.Length, v.Bits, v.Chunk, unhex(v.Ctx)}
		f := VectorForm{Cells: int(v.Length), CellBits: int(v.Bits)}
		sums := [2]SecretShare{f.NewSum(), f.NewSum()}
		for _, prep := range v.Prep {
			head := unhex(prep.Nonce + prep.Public)
			random := bytes.NewReader(unhex(prep.Nonce + prep.Rand))
			parts := must(c.split(prep.Measurement, random))
			l := liar{circuit: c, seeds: [128]byte(unhex(prep.Rand)),
				nonce: [16]byte(unhex(prep.Nonce))}
			var measured fp128.Vec
			for _, m := range prep.Measurement {
				b := make(fp128.Vec, v.Bits)
				if err := b.SplitBits(m); err != nil {
					t.Fatal(err)
				}
				measured = append(measured, b...)
			}
			ours := l.parts(measured)
			var messages [2][]byte
			var states [2]*sumvec.PrepState
			var vdafs [2]*sumvec.SumVec
			for r := range parts {
				if want := append(bytes.Clone(head),
					unhex(prep.Inputs[r])...); !bytes.Equal(parts[r], want) ||
					!bytes.Equal(ours[r], want) {
					t.Errorf("%s: the %v's part is not the draft's", filepath.Base(name), Role(r))
				}
				vdafs[r], states[r], messages[r], err = c.prepare(Key(unhex(v.Key)), Role(r),
					parts[r])
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(messages[r], unhex(prep.PrepShares[0][r])) {
					t.Errorf("%s: the %v's message is not the draft's", filepath.Base(name),
						Role(r))
				}
			}
			for r := range parts {
				if err := decide(vdafs[r], states[r], messages); err != nil {
					t.Errorf("%s: %v", filepath.Base(name), err)
				}
				out := must(outputOf(vdafs[r], states[r]))
				if got := hex.EncodeToString(encode(out)); got != strings.Join(prep.OutShares[r],
					"") {
					t.Errorf("%s: the %v's output share is not the draft's", filepath.Base(name),
						Role(r))
				}
				if err := sums[r].Add(SecretShare{out}); err != nil {
					t.Fatal(err)
				}
			}
			checked++
		}
		for r, s := range sums {
			if hex.EncodeToString(must(s.MarshalBinary())) != v.AggShares[r] {
				t.Errorf("%s: the %v's sum is not the draft's", filepath.Base(name), Role(r))
			}
		}
		if got := must(Combine(must(sums[0].Residues()),
			must(sums[1].Residues()))); !slices.Equal(got, v.AggResult) {
			t.Errorf("%s: the result is %v, want %v", filepath.Base(name), got, v.AggResult)
		}
	}
	if checked == 0 {
		t.Errorf("no vector for two servers was found in %d files", len(files))
	}
}
