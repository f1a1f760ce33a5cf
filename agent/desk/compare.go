package desk

import (
	"fmt"

	"caucus/dataset"
	"caucus/study"
)

// Records are this site's own records as a plan's schema encodes them, for the eyes of
// this site: nothing is charged for them and nothing of them may leave. The source has
// to be declared, as for a study; how many records a party has at least is for those that
// take part.
func (k *Desk) Records(p study.Plan) (*dataset.Records, error) {
	records, err := k.site.Sources.Own(p)
	if err != nil {
		return nil, fmt.Errorf("read this site's records: %w", err)
	}
	return records, nil
}
