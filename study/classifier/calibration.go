package classifier

// Calibration says how a fit's scores became probabilities: a score s became log-odds Slope·s +
// Intercept. The classifier's Weights already include the calibration, so do not apply it again.
type Calibration struct {
	Intercept []float64 `json:"intercept"` // one per column of Weights
	Slope     float64   `json:"slope"`
	// SlopeSD is the slope's standard deviation from noise and sampling. Low and High bound its 95
	// % interval.
	SlopeSD float64 `json:"slope_sd"`
	Low     float64 `json:"slope_low"`
	High    float64 `json:"slope_high"`
}
