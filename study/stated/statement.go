package stated

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"caucus/study"
)

// Statement is a forecast that the operator publishes with a plan, for parties that may join.
// Anybody can draw the forecast again from the plan, its pool and this document.
type Statement struct {
	Plan study.Hash `json:"plan"`
	// Version is raised when the same inputs give another forecast.
	Version int `json:"version"`
	// AUC is the value that the operator gave, 0 if none.
	AUC      float64   `json:"given_auc,omitempty"`
	Forecast *Forecast `json:"forecast"`
}

// Version is the version of forecasts that this program draws.
const Version = 1

// MaxDraws bounds the draws of every forecast.
const MaxDraws = 10_000

// Document returns the statement's canonical JSON, of this program's Version.
func (s Statement) Document() ([]byte, error) {
	s.Version = Version
	return json.Marshal(s)
}

// Parse reads an operator's forecast of a plan. It checks the plan's hash and the form, but not the
// numbers, for which only the operator's word stands until a site draws the forecast again.
func Parse(document []byte, plan study.Hash) (Statement, error) {
	var s Statement
	d := json.NewDecoder(bytes.NewReader(document))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Statement{}, fmt.Errorf("read forecast: %w", err)
	}
	_, err := d.Token()
	f := s.Forecast
	switch {
	case !errors.Is(err, io.EOF):
		return Statement{}, errors.New("read forecast: something follows it")
	case s.Plan != plan:
		return Statement{}, fmt.Errorf("read forecast: it is one of plan %s", s.Plan)
	case f == nil || f.Parties < 1 || f.Parties > 1<<20 || f.Records < f.Parties ||
		f.Records > math.MaxInt32 || f.Draws < 1 || f.Draws > MaxDraws ||
		len(f.AUCsTried) == 0 || len(f.Gain) != len(f.AUCsTried) || len(f.Shares) < 2:
		return Statement{}, errors.New("read forecast: numbers are missing or out of bounds")
	}
	return s, nil
}
