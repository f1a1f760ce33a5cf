package learners

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Measures tell how well scores fit labels.
type Measures struct {
	// Accuracy is the share of rows with the highest score at their label.
	Accuracy float64 `json:"accuracy"`
	// BER is the balanced error rate: one minus the mean recall of the classes. A class without
	// rows is left out. Noisy labels do not show which classes have no rows, so under noise a
	// class's estimated number of rows is raised to at least two standard errors.
	BER float64 `json:"ber"`
	// AUC is the area under the curve of one class against the rest, by its probability, averaged
	// over the classes: how often a row of the class scores above a row of the rest, ties counting
	// half. A class without rows, or with all of them, is left out; 1/2 if no class remains.
	AUC float64 `json:"auc"`
}

// MeasureScores compares the scores of a linear model on x (N×d) with labels that came through a
// channel. It undoes the channel in the counts behind accuracy and recalls, without bias, so with
// few rows they may leave [0,1]. AUC is not corrected; a channel moves it towards 1/2 by a factor
// that is the same for every model (exactly for two classes, nearly for more). Labels outside
// 0..K-1 are left out. Use Keep 1 for true labels.
func MeasureScores(l Linear, x *mat.Dense, y []int, c LabelChannel) Measures {
	s := l.Scores(x)
	predicted := l.Predict(x)
	// number of records by predicted class and label
	counts := mat.NewDense(l.Classes, l.Classes, nil)
	labelled := 0.0
	for i, k := range y {
		if 0 <= k && k < l.Classes {
			counts.Set(predicted[i], k, counts.At(predicted[i], k)+1)
			labelled++
		}
	}
	q := c.Flip()
	right, recall, classes := 0.0, 0.0, 0.0
	total := make([]float64, l.Classes)
	own := make([]float64, l.Classes)
	for k := range l.Classes {
		row := mat.Sum(counts.RowView(k))
		for j := range l.Classes {
			n := (counts.At(k, j) - q*row) / (c.Keep - q)
			total[j] += n
			if j == k {
				own[k] = n
				right += n
			}
		}
	}
	// Noise gives a class without rows about this total. Dividing by less would give a ratio of two
	// noises.
	least := 2 * math.Sqrt(labelled*q*(1-q)) / (c.Keep - q)
	for k := range l.Classes {
		if n := math.Max(total[k], least); n > 0 {
			recall += own[k] / n
			classes++
		}
	}
	m := Measures{Accuracy: right / math.Max(labelled, 1), BER: 1 - recall/math.Max(classes, 1)}
	area, compared := 0.0, 0.0
	for k := range WeightColumns(l.Classes) {
		class := k
		if l.Classes == 2 {
			class = 1
		}
		if a, ok := areaUnder(odds(s, k), y, class, l.Classes); ok {
			area += a
			compared++
		}
	}
	m.AUC = 0.5
	if compared > 0 {
		m.AUC = area / compared
	}
	return m
}

// odds returns the log odds of a class against the rest, from scores n×columns.
func odds(s *mat.Dense, class int) []float64 {
	out := mat.Col(nil, class, s)
	n, columns := s.Dims()
	if columns == 1 {
		return out
	}
	others := make([]float64, 0, columns)
	for i := range n {
		row := s.RawRowView(i)
		others = append(append(others[:0], row[:class]...), row[class+1:]...)
		out[i] -= floats.LogSumExp(others)
	}
	return out
}

// areaUnder returns the AUC of one class's scores, by rank sums; false if there is no pair to
// compare.
func areaUnder(s []float64, y []int, class, classes int) (float64, bool) {
	var order []int
	for i, k := range y {
		if 0 <= k && k < classes {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		switch d := s[i] - s[j]; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	// twice the number of pairs in the right order; number of rows of the class
	above, in := 0.0, 0.0
	for a := 0; a < len(order); {
		b, mine := a, 0.0
		for ; b < len(order) && s[order[b]] == s[order[a]]; b++ {
			if y[order[b]] == class {
				mine++
			}
		}
		others := float64(b-a) - mine
		below := float64(a) - in
		above += mine * (2*below + others)
		in += mine
		a = b
	}
	out := float64(len(order)) - in
	if in == 0 || out == 0 {
		return 0, false
	}
	return above / (2 * in * out), true
}
