package solving

// LambdaPoint is one step of the search for λ.
type LambdaPoint struct {
	// Lambda is the ridge; 0 stands for the zero model, which is always on the grid.
	Lambda float64 `json:"lambda"`
	Risk   float64 `json:"risk"`
	// Optimism is the expected fall of Risk due to fitting the noise.
	Optimism float64 `json:"correction"`
	// OptimismSE is the standard error of an Optimism estimated from draws. Among the λ with Risk +
	// Optimism below the zero model's, the search chooses the λ with the least Risk + Optimism
	// + OptimismSE.
	OptimismSE float64 `json:"doubt,omitempty"`
}
