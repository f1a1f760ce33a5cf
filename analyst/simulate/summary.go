package simulate

import (
	"reflect"
	"slices"

	"gonum.org/v1/gonum/stat"

	"caucus/privacy"
	"caucus/study"
)

// Summary is what the summaries of all kinds of study say of the simulated plan and of its first
// repeat's release.
type Summary struct {
	Study     string       `json:"study"`
	Mechanism string       `json:"mechanism"`
	Where     string       `json:"where,omitempty"`
	Unit      privacy.Unit `json:"unit"`
	Noise     study.Noise  `json:"noise"`
	Epsilon   float64      `json:"epsilon"`
	Delta     float64      `json:"delta"`
	Parties   int          `json:"parties"`
	Repeats   int          `json:"repeats,omitempty"`
	// Totals are the guarantees of the study at each unit, together with those of its pool's
	// weights. Classify has them if its pool is weighted, Labels and Ratio never.
	Totals   []study.UnitTotal `json:"totals,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Release  *study.Release    `json:"-"`
	Seconds  float64           `json:"seconds,omitempty"` // that the caller measured
}

// Common returns the summary itself: what all kinds' summaries have in common.
func (s *Summary) Common() *Summary { return s }

// summaryOf summarises a simulation's first repeat. short is DealtData.Short.
func summaryOf(p study.Plan, repeats int, r *study.Release, short []string) Summary {
	return Summary{Study: p.Kind, Mechanism: p.Mechanism, Where: p.Where, Unit: p.Unit,
		Noise: p.Noise, Epsilon: p.Epsilon, Delta: p.Delta, Parties: len(p.Roster),
		Repeats: repeats, Warnings: slices.Concat(short, r.Result.Warnings), Release: r}
}

// forecast returns the forecast of the noise in words, "" of a task without one, and adds its
// warning to the summary's.
func (s *Summary) forecast(task study.Task, size study.Size) (string, error) {
	f, ok := task.(study.NoiseForecaster)
	if !ok {
		return "", nil
	}
	words, warning, err := f.ForecastNoise(size)
	if warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
	return words, err
}

// ratioOf returns a ratio, nil of 0.
func ratioOf(a, of float64) *float64 {
	if of == 0 {
		return nil
	}
	ratio := a / of
	return &ratio
}

// repeated calls once for each repeat, up to the first error.
func repeated[R any](repeats int, once func(index int) (R, error)) ([]R, error) {
	done := make([]R, repeats)
	for i := range done {
		var err error
		if done[i], err = once(i); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// meanOf returns the mean of each exported float64 of the repeats, and its standard deviation, 0
// for a single repeat. The numbers may lie in structs and in lists of equal length inside. What
// else mean has is the first repeat's.
func meanOf[R any](repeats []R) (mean, sd R) {
	of := make([]reflect.Value, len(repeats))
	for i := range repeats {
		of[i] = reflect.ValueOf(&repeats[i]).Elem()
	}
	mean = repeats[0]
	setMean(reflect.ValueOf(&mean).Elem(), reflect.ValueOf(&sd).Elem(), of)
	return mean, sd
}

func setMean(mean, sd reflect.Value, of []reflect.Value) {
	inside := func(n int, part func(v reflect.Value, i int) reflect.Value) {
		for i := range n {
			if !part(mean, i).CanSet() { // it is not exported
				continue
			}
			parts := make([]reflect.Value, len(of))
			for k, v := range of {
				parts[k] = part(v, i)
			}
			setMean(part(mean, i), part(sd, i), parts)
		}
	}
	switch mean.Kind() {
	case reflect.Float64:
		v := make([]float64, len(of))
		for i := range of {
			v[i] = of[i].Float()
		}
		m, s := stat.MeanStdDev(v, nil)
		mean.SetFloat(m)
		if len(v) > 1 {
			sd.SetFloat(s)
		}
	case reflect.Struct:
		inside(mean.NumField(), reflect.Value.Field)
	case reflect.Slice:
		n := of[0].Len()
		if mean.Type().Elem().Kind() != reflect.Float64 {
			return
		}
		mean.Set(reflect.MakeSlice(mean.Type(), n, n))
		sd.Set(reflect.MakeSlice(sd.Type(), n, n))
		inside(n, reflect.Value.Index)
	}
}
