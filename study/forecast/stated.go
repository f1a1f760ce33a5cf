package forecast

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"caucus/auxdata"
	"caucus/study"
)

// Stated is a forecast that the operator publishes with a plan, for parties that may join. Anybody can
// draw the forecast again from the plan, its pool and this document.
type Stated struct {
	Plan study.Hash `json:"plan"`
	// Version is raised when the same inputs give another forecast.
	Version int `json:"version"`
	// AUC is the value that the operator gave, 0 if none.
	AUC      float64   `json:"given_auc,omitempty"`
	Forecast *Forecast `json:"forecast"`
}

const version = 1

// MostDraws and MostParties bound every forecast. mostDrawsAgain and mostRecordsAgain bound what Again draws.
const (
	MostDraws   = 10_000
	MostParties = 10_000

	mostDrawsAgain, mostRecordsAgain = 200, 100_000 // draws, and records of each party
)

func (s Stated) Document() ([]byte, error) {
	f := *s.Forecast
	f.Coefficients, s.Forecast, s.Version = nil, &f, version
	return json.Marshal(s)
}

// ParseStated reads an operator's forecast of a plan. It checks the plan's hash and the form, but not the
// numbers, for which only the operator's word stands until a site draws the forecast again.
func ParseStated(document []byte, plan study.Hash) (Stated, error) {
	var s Stated
	d := json.NewDecoder(bytes.NewReader(document))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Stated{}, fmt.Errorf("read forecast: %w", err)
	}
	_, err := d.Token()
	f := s.Forecast
	switch {
	case !errors.Is(err, io.EOF):
		return Stated{}, errors.New("read forecast: something follows it")
	case s.Plan != plan:
		return Stated{}, fmt.Errorf("read forecast: it is one of plan %s", s.Plan)
	case f == nil || f.Parties < 1 || f.Parties > 1<<20 || f.Records < f.Parties || f.Records > math.MaxInt32 || f.Draws < 1 || f.Draws > MostDraws ||
		len(f.Looked) == 0 || len(f.Gain) != len(f.Looked) || len(f.Shares) < 2:
		return Stated{}, errors.New("read forecast: numbers are missing or out of bounds")
	}
	return s, nil
}

// Again draws a stated forecast again from public inputs. It refuses a forecast that would occupy a
// site's machine for hours or exhaust its memory, because the operator may be hostile.
func (s Stated) Again(ctx context.Context, p study.Plan, pool *auxdata.Pool, progress func(done, all int)) (*Forecast, error) {
	if s.Version != version {
		return nil, fmt.Errorf("this program draws forecasts of version %d, the operator's is of version %d", version, s.Version)
	}
	f := s.Forecast
	if f.Draws > mostDrawsAgain || f.Parties > MostParties || f.Records/f.Parties > mostRecordsAgain {
		return nil, fmt.Errorf("%d draws of %d parties with %d records in all are more than is drawn again here", f.Draws, f.Parties, f.Records)
	}
	return Draw(ctx, p, pool, Public{study.Size{Parties: f.Parties, Records: f.Records}, s.AUC}, Options{Draws: f.Draws, Progress: progress})
}

// Agrees reports whether each mean differs by at most four standard errors of the difference.
func (f *Forecast) Agrees(with *Forecast) bool {
	near := func(a, b Drawn) bool { return math.Abs(a.Mean-b.Mean) <= 4*math.Hypot(a.Error, b.Error)+1e-6 }
	lines := func(a, b Line) bool { return near(a.Accuracy, b.Accuracy) && near(a.AUC, b.AUC) }
	return math.Abs(f.Majority-with.Majority) < 1e-6 && lines(f.Released, with.Released) && lines(f.Alone, with.Alone) && lines(f.Pooled, with.Pooled)
}
