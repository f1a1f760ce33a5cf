package classifier

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Output is the meaning of a classifier's numbers, one per class for each record.
type Output string

const (
	// Probability says that about a share p of the records with number p are of the class. Only
	// numbers that were calibrated on outcomes of records are probabilities (Calibration).
	Probability Output = "probability"
	// VoteShare is the share of the parties' classifiers that vote for a class; shares of outcomes
	// may differ.
	VoteShare Output = "vote_share"
	// Score has no unit and can only order records. For two classes, the first score is minus the
	// second.
	Score Output = "score"
)

// Outputs lists the meanings of a classifier's numbers, the strongest first: only probabilities say
// how often.
func Outputs() []Output { return []Output{Probability, VoteShare, Score} }

// Words tells a reader what the numbers are, and what they must not be taken for.
func (o Output) Words() string {
	switch o {
	case Probability:
		return "probabilities, calibrated with the outcomes as released, with noise"
	case VoteShare:
		return "shares of the parties' votes, not probabilities: 0.8 does not mean that 80 % of such records have the class"
	}
	return "scores, not probabilities: they order records and say nothing else"
}

// Words describes the classifier's numbers, and names the class if every record gets the same.
func (c Classifier) Words() string {
	model, err := c.Linear()
	last := len(c.Weights) - 1
	if err != nil || slices.ContainsFunc(c.Weights[:last], func(w []float64) bool {
		return slices.Max(w) != 0 || slices.Min(w) != 0
	}) {
		return c.Output.Words()
	}
	x := mat.NewDense(1, last+1, nil)
	x.Set(0, last, 1) // the last column is constant
	return "the same for every record, and so is the class: " + c.Classes[model.Predict(x)[0]]
}

// Values returns the classifier's N×classes numbers for mapped rows x (N×d). The predicted class of
// a row has the largest number; in a tie the first.
func (c Classifier) Values(x *mat.Dense) (*mat.Dense, error) {
	model, err := c.Linear()
	if err != nil {
		return nil, err
	}
	if c.Output != Score {
		return model.Probabilities(x), nil
	}
	s := model.Scores(x)
	if model.Classes > 2 || s.IsEmpty() {
		return s, nil
	}
	n, _ := s.Dims()
	both := mat.NewDense(n, 2, nil)
	for i := range n {
		both.SetRow(i, []float64{-s.At(i, 0), s.At(i, 0)})
	}
	return both, nil
}

func (c Classifier) checkOutput() error {
	if !slices.Contains(Outputs(), c.Output) {
		return fmt.Errorf("read classifier: its output is %q, which is none of %v: the release was damaged, or an older version made it", c.Output, Outputs())
	}
	if calibrated := c.Calibration != nil; calibrated != (c.Output == Probability) {
		return fmt.Errorf("read classifier: it gives a %s and is calibrated: %v; only probabilities are: the release was damaged", c.Output, calibrated)
	}
	return nil
}
