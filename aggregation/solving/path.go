package solving

// LambdaPoint is one step of the search for λ.
type LambdaPoint struct {
	// Lambda is the ridge; 0 stands for the zero model, which is always on the grid.
	Lambda float64 `json:"lambda"`
	Risk   float64 `json:"risk"`
	// Correction is the expected fall of Risk due to fitting the noise.
	Correction float64 `json:"correction"`
	// Doubt is the standard error of a Correction estimated from draws. Among the λ with Risk +
	// Correction below the zero model's, the search chooses the λ with the least Risk + Correction
	// + Doubt.
	Doubt float64 `json:"doubt,omitempty"`
}
