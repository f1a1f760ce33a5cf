package leastsquares

import (
	"caucus/study"
	"caucus/study/regress"
)

// ForecastNoise implements study.NoiseForecaster.
func (f finisher) ForecastNoise(size study.Size) (string, string, error) {
	p := f.Plan()
	costs, err := p.NoiseCosts(f.Moments.Bound(), f.Moments.Cells())
	if err != nil {
		return "", "", err
	}
	for i := range costs {
		costs[i].SD /= float64(regress.OfProduct * f.Moments.One * f.Moments.One)
	}
	words := p.NoiseWords(costs)
	if narrow := p.AboutFewer(size); narrow != "" {
		words = narrow + "\n" + words
	}
	return words, "", nil
}
