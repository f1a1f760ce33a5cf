// Package judged is about the result of an evaluate study: it makes AUC, calibration and other
// measures from the noisy counts, draws and explains them, recalibrates the judged model, and makes
// plans: models from releases and coefficients, bins from the pool, and forecasts of the noise. No
// party needs it; package evaluate is a party's half.
package judged
