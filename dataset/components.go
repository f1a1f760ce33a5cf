package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

// Analysis names how columns are scaled before their principal components are taken.
type Analysis string

const (
	// FAMD scales each column separately: for tables ([FitFAMD]).
	FAMD Analysis = "famd"
	// PCA keeps the scale of the schema's bounds: for pictures ([FitPCA]).
	PCA Analysis = "pca"
)

// ComponentCount is the number of components to keep; 0 keeps all features.
type ComponentCount int

// AutoComponents lets the plan choose the count by a forecast.
const AutoComponents ComponentCount = -1

// MarshalText writes "auto" or a decimal number, as UnmarshalText reads it.
func (c ComponentCount) MarshalText() ([]byte, error) {
	if c == AutoComponents {
		return []byte("auto"), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}

// UnmarshalText reads "auto" or a number from 0.
func (c *ComponentCount) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*c = AutoComponents
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no number of components: give auto, a number, or 0 for all features", text)
	}
	*c = ComponentCount(n)
	return nil
}

// Components describe a public map to fit on a pool.
type Components struct {
	Project  ComponentCount `yaml:"project" default:"auto" help:"principal components of the pool to keep; 0: all features; auto: as many as serve the plan best"`
	Whiten   float64        `yaml:"whiten" help:"degree of whitening of the components, 0 to 1"`
	Analysis Analysis       `yaml:"analysis" help:"how columns are scaled before: famd, each by its own deviation, or pca, by the schema's bounds; default: by the schema"`
	Bins     bool           `yaml:"bins" help:"beside the components also bins of numeric columns, at public quantiles of the pool (mechanism cross)"`
}

// DefaultAnalysis returns PCA if all columns are one numeric feature, like pixels: their variances
// are comparable, and a column of larger variance tells more. Otherwise variances depend on chosen
// bounds, so it returns FAMD.
func DefaultAnalysis(s Schema) Analysis {
	if len(s.Features) == 1 && s.Features[0].Kind == Numeric {
		return PCA
	}
	return FAMD
}

// Fit fits the map on x, N×Dim encoded rows of the PUBLIC pool. Errors say what to change.
func (c Components) Fit(s Schema, x *mat.Dense) (Map, error) {
	if c.Project == 0 {
		return Identity(s), nil
	}
	if c.Project < 0 {
		return Map{}, errors.New("fit map: say how many components to keep: auto is for who forecasts a plan")
	}
	columns, err := c.Columns(s, x)
	if err != nil {
		return Map{}, err
	}
	var m Map
	if columns.Kind == IdentityMap {
		m, err = FitPCA(x, int(c.Project), c.Whiten)
	} else {
		m, err = FitFAMD(s, x, int(c.Project), c.Whiten)
	}
	if err != nil || !c.Bins {
		return m, err
	}
	return m.withBins(s, x)
}

// Columns returns the map to the columns from which components are computed.
func (c Components) Columns(s Schema, x *mat.Dense) (Map, error) {
	switch cmp.Or(c.Analysis, DefaultAnalysis(s)) {
	case FAMD:
		return fitStandard(s, x)
	case PCA:
		return Identity(s), nil
	}
	return Map{}, fmt.Errorf("fit map: there is no analysis %q; use %s for tables or %s for pictures", c.Analysis, FAMD, PCA)
}
