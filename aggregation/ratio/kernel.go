package ratio

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Kernel compares two rows: "rbf", k(x,y) = exp(−Gamma‖x−y‖²), or "linear", k(x,y) = ⟨x,y⟩ (without
// Gamma).
type Kernel struct {
	Name  string  `json:"name"`
	Gamma float64 `json:"gamma,omitempty"`
}

// RBF returns k(x,y) = exp(−gamma‖x−y‖²). gamma is in inverse squared units of the rows and is not
// checked; 1/MedianSquaredDistance of public rows is a usual choice.
func RBF(gamma float64) Kernel { return Kernel{Name: "rbf", Gamma: gamma} }

// Validate accepts "linear", whose Gamma it ignores, and "rbf" with a finite Gamma > 0.
func (k Kernel) Validate() error {
	switch k.Name {
	case "linear":
		return nil
	case "rbf":
		if k.Gamma > 0 && !math.IsInf(k.Gamma, 0) {
			return nil
		}
		return fmt.Errorf("kernel gamma = %g: give a positive width, for example 1/MedianSquaredDistance of public rows", k.Gamma)
	}
	return fmt.Errorf("kernel %q is not known: use \"rbf\" or \"linear\"", k.Name)
}

// SelfValue returns k(x,x) of a row.
func (k Kernel) SelfValue(row []float64) float64 {
	if k.Name == "rbf" {
		return 1
	}
	return kernelNorm(row)
}

// kernelBlock bounds the rows held at once: 512×512 kernel values are 2 MiB.
const kernelBlock = 512

// Sums adds Σ_j k(x_i, y_j) to row[i] and Σ_i k(x_i, y_j) to column[j]; either may be nil. It works
// in blocks, so memory does not grow with n·m. x is n×d, y is m×d. For several cores, split x into
// slices with separate column sums.
func (k Kernel) Sums(x, y *mat.Dense, row, column []float64) {
	n, _ := x.Dims()
	m, _ := y.Dims()
	xn, yn := kernelNorms(x), kernelNorms(y)
	buffer := make([]float64, min(n, kernelBlock)*min(m, kernelBlock))
	for i0 := 0; i0 < n; i0 += kernelBlock {
		i1 := min(n, i0+kernelBlock)
		xb := kernelRows(x, i0, i1)
		for j0 := 0; j0 < m; j0 += kernelBlock {
			j1 := min(m, j0+kernelBlock)
			block := mat.NewDense(i1-i0, j1-j0, buffer[:(i1-i0)*(j1-j0)])
			block.Mul(xb, kernelRows(y, j0, j1).T())
			k.finish(block, xn[i0:i1], yn[j0:j1])
			for i := range i1 - i0 {
				var sum float64
				for j, v := range block.RawRowView(i) {
					sum += v
					if column != nil {
						column[j0+j] += v
					}
				}
				if row != nil {
					row[i0+i] += sum
				}
			}
		}
	}
}

func (k Kernel) finish(block *mat.Dense, xn, yn []float64) {
	if k.Name != "rbf" {
		return
	}
	for i, a := range xn {
		values := block.RawRowView(i)
		for j, b := range yn {
			values[j] = math.Exp(-k.Gamma * max(a+b-2*values[j], 0))
		}
	}
}

func kernelNorm(row []float64) float64 {
	var sum float64
	for _, v := range row {
		sum += v * v
	}
	return sum
}

func kernelNorms(x *mat.Dense) []float64 {
	n, _ := x.Dims()
	out := make([]float64, n)
	for i := range out {
		out[i] = kernelNorm(x.RawRowView(i))
	}
	return out
}

func kernelRows(x *mat.Dense, from, to int) *mat.Dense {
	_, d := x.Dims()
	return x.Slice(from, to, 0, d).(*mat.Dense)
}
