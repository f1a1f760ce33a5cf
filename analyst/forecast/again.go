package forecast

import (
	"context"
	"fmt"

	"caucus/auxdata"
	"caucus/study"
	"caucus/study/stated"
)

// MostParties bounds every forecast. mostDrawsAgain and mostRecordsAgain bound what Again draws.
const (
	MostParties = 10_000

	mostDrawsAgain, mostRecordsAgain = 200, 100_000 // draws, and records of each party
)

// RedrawStated draws a stated forecast again from public inputs. It refuses a forecast that would
// occupy a site's machine for hours or exhaust its memory, because the operator may be hostile.
func RedrawStated(ctx context.Context, s stated.Statement, p study.Plan, pool *auxdata.Pool,
	progress func(done, all int)) (*Forecast, error) {
	if s.Version != stated.Version {
		return nil, fmt.Errorf("this program draws forecasts of version %d, the operator's is of version %d", stated.Version, s.Version)
	}
	f := s.Forecast
	if f.Draws > mostDrawsAgain || f.Parties > MostParties ||
		f.Records/f.Parties > mostRecordsAgain {
		return nil, fmt.Errorf("%d draws of %d parties with %d records in all are more than is drawn again here", f.Draws, f.Parties, f.Records)
	}
	return DrawForecast(ctx, p, pool, PublicInputs{study.Size{Parties: f.Parties,
		Records: f.Records}, s.AUC},
		Options{Draws: f.Draws, Progress: progress})
}
