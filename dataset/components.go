package dataset

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Analysis names how columns are scaled before their main directions are taken.
type Analysis string

// The analyses.
const (
	// FAMD gives each column a weight of its own: for tables ([FitFAMD]).
	FAMD Analysis = "famd"
	// PCA takes columns as the schema's bounds scale them: for pictures
	// ([FitPCA]).
	PCA Analysis = "pca"
)

// Components says which public map is to be fitted on a pool.
type Components struct {
	// Project keeps that many components; 0 keeps all features.
	Project int `yaml:"project"`
	// Whiten is how far they are evened out, 0 to 1.
	Whiten float64 `yaml:"whiten"`
	// Analysis is famd or pca; empty takes DefaultAnalysis.
	Analysis Analysis `yaml:"analysis"`
}

// DefaultAnalysis of rows of a schema. Where all columns are of one kind, with one
// set of bounds, as the pixels of pictures are, their variances compare, and a
// large one means more; elsewhere a variance says which unit and bounds somebody
// chose.
func DefaultAnalysis(Schema) Analysis { return PCA }

// Fit fits the map on x, N×Dim encoded rows of the PUBLIC pool. Errors say what
// to change.
func (c Components) Fit(s Schema, x *mat.Dense) (Map, error) {
	if c.Project == 0 {
		return Identity(s), nil
	}
	analysis := c.Analysis
	if analysis == "" {
		analysis = DefaultAnalysis(s)
	}
	switch analysis {
	case FAMD:
		return FitFAMD(s, x, c.Project, c.Whiten)
	case PCA:
		return FitPCAWhitened(x, c.Project, c.Whiten)
	}
	return Map{}, fmt.Errorf("fit map: there is no analysis %q; use %s for tables or %s for pictures", c.Analysis, FAMD, PCA)
}
