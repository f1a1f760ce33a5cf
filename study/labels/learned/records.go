package learned

import (
	"bytes"
	"encoding/binary"

	"gonum.org/v1/gonum/mat"

	"caucus/study"
	"caucus/study/bodies"
)

// records returns the features (N×dim) and noisy labels of all contributed records, except those
// with the features of an empty record. An agent adds empty records up to its declared number, and
// sends an empty record for each record that fails the plan's condition. Their labels are uniform
// and would pull each class's share to 1/K. Leaving them out reveals nothing, because their clear
// features show that they are empty. A first reading of the bodies counts the records, so that the
// matrix can be allocated, and a second reading fills it.
func (f finisher) records(all study.Bodies) (*mat.Dense, []int, error) {
	var y []int
	dim := f.Plan().Map.Dim()
	err := f.each(all, func(_ []byte, label int64) { y = append(y, int(label)) })
	if err != nil || len(y) == 0 {
		return &mat.Dense{}, nil, err
	}
	x, at := mat.NewDense(len(y), dim, nil), 0
	err = f.each(all, func(features []byte, _ int64) {
		row := x.RawRowView(at)
		for j := range row {
			row[j] = float64(int16(binary.BigEndian.Uint16(features[2*j:]))) / bodies.FeatureScale
		}
		at++
	})
	return x, y, err
}

func (f finisher) each(all study.Bodies, do func(features []byte, label int64)) error {
	dim := f.Plan().Map.Dim()
	empty := bodies.AppendFeatures(nil, f.Plan().MapRecords(f.Plan().Schema.Empty()))
	for body, err := range all {
		if err != nil {
			return err
		}
		features, labels, err := f.Parse(body)
		if err != nil {
			return err
		}
		for i, k := range labels {
			if of := features[2*dim*i : 2*dim*(i+1)]; !bytes.Equal(of, empty) {
				do(of, k)
			}
		}
	}
	return nil
}
