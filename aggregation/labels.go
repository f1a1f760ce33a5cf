package aggregation

import (
	"fmt"
	"slices"

	"caucus/learners"
)

const (
	RiskAccuracy = "accuracy" // errors over all records
	RiskBER      = "ber"      // mean of the classes' error rates
	RiskAUC      = "auc"      // pairs in the wrong order

	// CorrectionNone trusts the labels, which is right for symmetric losses.
	CorrectionNone = "none"
	// CorrectionBackward uses learners.BackwardWeights.
	CorrectionBackward = "backward"
	// CorrectionForward works for losses that learners.Loss.CheckForward permits.
	CorrectionForward = "forward"
)

// Risks lists the values of LabelOptions.Risk: accuracy, ber (balanced error rate) and auc.
func Risks() []string { return []string{RiskAccuracy, RiskBER, RiskAUC} }

// Corrections lists the values of LabelOptions.Correction; not each works with each loss or risk
// (see LabelOptions.Validate).
func Corrections() []string {
	return []string{CorrectionNone, CorrectionBackward, CorrectionForward}
}

// LabelOptions configure a fit to noisy labels.
type LabelOptions struct {
	Channel    learners.LabelChannel // channel from true to noisy labels
	Loss       learners.Loss
	Risk       string
	Correction string
	// Lambda is the ridge, times the scale of the loss. 0 chooses it by cross-validation on noisy
	// labels, at no cost.
	Lambda float64
}

// Validate refuses unknown names, an impossible channel, and the forward correction where it has no
// meaning: for a risk other than accuracy, or a loss that Loss.CheckForward refuses.
func (lo LabelOptions) Validate() error {
	switch {
	case !slices.Contains(Risks(), lo.Risk):
		return fmt.Errorf("risk %q: use one of %v", lo.Risk, Risks())
	case !slices.Contains(Corrections(), lo.Correction):
		return fmt.Errorf("correction %q: use one of %v", lo.Correction, Corrections())
	case lo.Correction == CorrectionForward && lo.Risk != RiskAccuracy:
		return fmt.Errorf("the forward correction is for risk accuracy: its scores are class probabilities already, and rank as well as any; use it there, or backward for %s", lo.Risk)
	}
	if lo.Correction == CorrectionForward {
		if err := lo.Loss.CheckForward(); err != nil {
			return err
		}
	}
	return lo.Channel.Validate()
}
