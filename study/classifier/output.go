package classifier

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Output says what the numbers are that a classifier gives a record, one a class.
type Output string

const (
	// Probability: of the records that are given p, about the share p is of the
	// class. Nothing is called so unless it was calibrated on what the records hold
	// of outcomes: see Calibration.
	Probability Output = "probability"
	// VoteShare is the share of the parties' classifiers that would vote for the
	// class. Voters agree more, or less, than outcomes do.
	VoteShare Output = "vote_share"
	// Score orders records, the likelier first, on no scale. Of two classes the
	// first has the second's score with the other sign.
	Score Output = "score"
)

// Outputs are all there are.
func Outputs() []Output { return []Output{Probability, VoteShare, Score} }

// Words say what a number is to somebody who reads it.
func (o Output) Words() string {
	switch o {
	case Probability:
		return "probabilities, calibrated on what was released of the records' outcomes"
	case VoteShare:
		return "shares of the parties' votes, not probabilities: voters may agree more or less than outcomes do"
	}
	return "scores, not probabilities: they order records and say nothing else"
}

// Values are the classifier's numbers for mapped rows x (N×d): N×classes, what Output
// says. The class of a row is the one of the largest, the first such in a tie.
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

// checkOutput refuses a release that does not say what its numbers are.
func (c Classifier) checkOutput() error {
	if !slices.Contains(Outputs(), c.Output) {
		return fmt.Errorf("read classifier: its output is %q, which is none of %v: the release was damaged, or an older version made it", c.Output, Outputs())
	}
	if calibrated := c.Calibration != nil; calibrated != (c.Output == Probability) {
		return fmt.Errorf("read classifier: it gives a %s and is calibrated: %v; only probabilities are: the release was damaged", c.Output, calibrated)
	}
	return nil
}
