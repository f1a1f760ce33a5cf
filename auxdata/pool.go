package auxdata

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/internal/csvfile"
)

// Digest names a pool: the SHA-256 of its canonical bytes. As text it is lower-case hexadecimal.
type Digest [sha256.Size]byte

// String returns 64 lower-case hexadecimal digits, which name the pool's file in folders.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes what String returns, for plans in JSON. It never fails.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText takes exactly 64 hexadecimal digits, of either case. It does not know whether such
// a pool exists.
func (d *Digest) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(d) {
		return fmt.Errorf("read pool digest: have %d characters, want %d", len(text), 2*len(d))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return fmt.Errorf("read pool digest: %w", err)
	}
	return nil
}

// ErrNoRows refuses a pool of no rows: no vote, moment or weight would mean anything.
var ErrNoRows = errors.New("the public pool has no rows: give a file with at least one")

// Pool is the public pool of a study. All its fields are public.
type Pool struct {
	// Encoded is rows × schema.Dim(), features in [0,1].
	Encoded *mat.Dense
	// MissingMarked is Encoded with missing cells as in a schema with MarkMissing. It is Encoded
	// itself without a missing cell, and in a simulation of a kind that does not count these.
	MissingMarked *mat.Dense
	// X is rows × map.Dim(), each row of norm at most 1, the intercept last.
	X *mat.Dense
	// Weight has a positive weight for each row; nil means equal weights.
	Weight []float64
	// Digest covers the rows and any weights.
	Digest Digest

	// digest computes the digest under other weights.
	digest func(weight []float64) (Digest, error)
}

// WeightColumn holds the weights in a pool's file. The prefix avoids clashes with data columns.
const WeightColumn = "caucus_weight"

// New encodes and maps a table of unlabelled rows (it ignores a label column). The remarks count
// cells outside the schema, which were clamped or mapped to "other".
func New(s dataset.Schema, m dataset.Map, t *dataset.Table) (*Pool, []dataset.Remark, error) {
	if t.Rows() == 0 {
		return nil, nil, ErrNoRows
	}
	marking := s
	marking.MarkMissing = true
	records, remarks, err := marking.Encode(t)
	if err != nil {
		return nil, nil, fmt.Errorf("encode public pool: %w", err)
	}
	p := &Pool{Encoded: records.X, MissingMarked: records.X}
	if slices.ContainsFunc(records.X.RawMatrix().Data, math.IsNaN) {
		p.Encoded = mat.DenseCopyOf(records.X)
		for i, fill := 0, s.MissingFiller(); i < t.Rows(); i++ {
			p.Encoded.SetRow(i, fill(records.X.RawRowView(i)))
		}
	}
	p.X = m.Apply(p.Encoded)
	if p.Weight, err = Weights(t); err != nil {
		return nil, nil, err
	}
	p.digest = func(weight []float64) (d Digest, err error) {
		h := sha256.New()
		err = writeCSV(h, s, t, formatWeights(weight))
		h.Sum(d[:0])
		return d, err
	}
	h := sha256.New()
	if err := WriteCSV(h, s, t); err != nil {
		return nil, nil, err
	}
	h.Sum(p.Digest[:0])
	return p, remarks, nil
}

// Weights returns the numbers of a table's WeightColumn; nil without such a column.
func Weights(t *dataset.Table) ([]float64, error) {
	if !t.Has(WeightColumn) {
		return nil, nil
	}
	weight := make([]float64, t.Rows())
	for i := range weight {
		cell, _ := t.Cell(i, WeightColumn)
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return nil, fmt.Errorf("read public pool: weight %q of row %d is not a number", cell, i+1)
		}
		weight[i] = v
	}
	if err := checkWeights(weight); err != nil {
		return nil, fmt.Errorf("read public pool: %w", err)
	}
	return weight, nil
}

// heaviest and its inverse bound the largest weight, so that sums and squares are finite and above
// 0.
const heaviest = 1e100

func checkWeights(weight []float64) error {
	largest := 0.0
	for i, v := range weight {
		if !(v > 0) || v > heaviest {
			return fmt.Errorf("weight %v of row %d is not above 0 and at most %g", v, i+1, heaviest)
		}
		largest = math.Max(largest, v)
	}
	if len(weight) > 0 && largest < 1/heaviest {
		return fmt.Errorf("no weight is above %g: multiply all by the same number", 1/heaviest)
	}
	return nil
}

// formatWeights writes weights so that reading gives exactly the same weights.
func formatWeights(weight []float64) []string {
	if weight == nil {
		return nil
	}
	out := make([]string, len(weight))
	for i, v := range weight {
		out[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return out
}

// NewSimulated makes a pool of encoded rows (N×schema.Dim()) for simulations, with their digest.
// The caller sets Marked if some cell is missing.
func NewSimulated(encoded *mat.Dense, m dataset.Map) *Pool {
	p := &Pool{Encoded: encoded, MissingMarked: encoded, X: m.Apply(encoded)}
	p.digest = func(weight []float64) (d Digest, err error) {
		h := sha256.New()
		n, _ := encoded.Dims()
		for i := range n {
			binary.Write(h, binary.BigEndian, encoded.RawRowView(i))
		}
		binary.Write(h, binary.BigEndian, weight)
		h.Sum(d[:0])
		return d, nil
	}
	p.Digest, _ = p.digest(nil)
	return p
}

// Rows is the number N of public rows, the same for Encoded, X and any Weight.
func (p *Pool) Rows() int { n, _ := p.X.Dims(); return n }

// Dim returns the number of mapped features, d, including the intercept.
func (p *Pool) Dim() int { _, d := p.X.Dims(); return d }

// EffectiveRows returns Kish's effective sample size (Σw)²/Σw², N without weights.
func (p *Pool) EffectiveRows() float64 {
	if p.Weight == nil {
		return float64(p.Rows())
	}
	total, squares := 0.0, 0.0
	for _, v := range p.Weight {
		total += v
		squares += v * v
	}
	return total * total / squares
}

// WriteCSV writes the canonical bytes of a pool, whose SHA-256 is its digest: a header and the
// schema's feature columns in the schema's order, then the weights if the table has a WeightColumn.
func WriteCSV(w io.Writer, s dataset.Schema, t *dataset.Table) error {
	var weight []string
	if t.Has(WeightColumn) {
		weight = make([]string, t.Rows())
		for i := range weight {
			weight[i], _ = t.Cell(i, WeightColumn)
		}
	}
	return writeCSV(w, s, t, weight)
}

func writeCSV(w io.Writer, s dataset.Schema, t *dataset.Table, weight []string) error {
	return writeColumns(csvfile.New(w), t, s.FeatureColumns(), weight)
}

// WriteWeighted writes all columns of a table with new weights, one per row. New reads it as
// Weighted's pool. Cells stay as they are, also those that a spreadsheet would compute: the pool's
// digest was agreed on before.
func WriteWeighted(w io.Writer, t *dataset.Table, weight []float64) error {
	if len(weight) != t.Rows() {
		return fmt.Errorf("write public pool: have %d weights for %d rows", len(weight), t.Rows())
	}
	var columns []string
	for _, name := range t.Columns() {
		if name != WeightColumn {
			columns = append(columns, name)
		}
	}
	return writeColumns(csvfile.New(w), t, columns, formatWeights(weight))
}

func writeColumns(out *csvfile.Writer, t *dataset.Table, columns, weight []string) error {
	row := slices.Clone(columns)
	if weight != nil {
		row = append(row, WeightColumn)
	}
	err := out.Write(row)
	for i := 0; i < t.Rows() && err == nil; i++ {
		for j, name := range columns {
			cell, ok := t.Cell(i, name)
			if !ok {
				return fmt.Errorf("the public pool has no column %q, which its schema names: add "+
					"it to the pool, or leave it out of the schema%s", name,
					dataset.SharedNamesNote([]string{name}, t.Columns()))
			}
			row[j] = cell
		}
		if weight != nil {
			row[len(columns)] = weight[i]
		}
		err = out.Write(row)
	}
	if err = cmp.Or(err, out.Close()); err != nil {
		return fmt.Errorf("write public pool: %w", err)
	}
	return nil
}

// ReadCSV reads the output of WriteCSV and refuses bytes with another digest.
func ReadCSV(b []byte, want Digest) (*dataset.Table, error) {
	if got := Digest(sha256.Sum256(b)); got != want {
		return nil, fmt.Errorf("read public pool: the bytes have digest %s, the plan names %s: fetch the pool again", got, want)
	}
	t, err := dataset.ReadCSV(bytes.NewReader(b), dataset.Format{})
	if err != nil {
		return nil, fmt.Errorf("read public pool: %w", err)
	}
	return t, nil
}

// WithWeights returns a pool of the same rows under one positive weight per row, with its own
// digest.
func (p *Pool) WithWeights(weight []float64) (*Pool, error) {
	if len(weight) != p.Rows() {
		return nil, fmt.Errorf("weigh public pool: have %d weights for %d rows", len(weight),
			p.Rows())
	}
	if err := checkWeights(weight); err != nil {
		return nil, fmt.Errorf("weigh public pool: %w", err)
	}
	q := *p
	q.Weight = append([]float64(nil), weight...)
	var err error
	if q.Digest, err = p.digest(q.Weight); err != nil {
		return nil, fmt.Errorf("weigh public pool: %w", err)
	}
	return &q, nil
}

// Mean returns the weighted mean of the mapped rows, d numbers.
func (p *Pool) Mean() []float64 {
	n, d := p.X.Dims()
	mean := make([]float64, d)
	total := 0.0
	for i := range n {
		v := 1.0
		if p.Weight != nil {
			v = p.Weight[i]
		}
		total += v
		for j, x := range p.X.RawRowView(i) {
			mean[j] += v * x
		}
	}
	for j := range mean {
		mean[j] /= total
	}
	return mean
}
