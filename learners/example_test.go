package learners_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// A site fits a model to its own records and labels other rows with it.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(40, 2, nil)
	y := make([]int, 40)
	for i := range y {
		y[i] = i % 2
		x.SetRow(i, []float64{0.2 + 0.4*float64(y[i]) + 0.1*rng.Float64(), 1})
	}
	learner, err := learners.New("softmax")
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := learner.Fit(context.Background(), x, y, 2, rng)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Predict(mat.NewDense(2, 2, []float64{0.1, 1, 0.9, 1})))
	// Output: [0 1]
}

// An analyst fits a model to soft labels. The vote shares of each class enter only through their
// moments.
func ExampleSoftmaxRisk() {
	x := mat.NewDense(3, 1, []float64{-1, 0, 1})
	shares := mat.NewDense(3, 2, []float64{0.9, 0.1, 0.5, 0.5, 0.1, 0.9})
	risk := &learners.SoftmaxRisk{X: x, Mu: learners.TargetMoments(x, shares, nil), Classes: 2}
	w, report := learners.Minimize(risk, nil, learners.MinimiseSettings{GradientNorm: 1e-9})
	p := learners.NewLinear(w, 2).Probabilities(x)
	fmt.Printf("%.3f %.3f %.3f, converged: %v\n", p.At(0, 1), p.At(1, 1), p.At(2, 1),
		report.Converged)
	// Output: 0.100 0.500 0.900, converged: true
}
