package classify

import (
	"fmt"

	"caucus/study"
	"caucus/study/classifier"
)

// Report says what classifier came out.
func (Kind) Report(r study.Release) (out study.Report, err error) {
	c, ok := classifier.Of(r.Result)
	if !ok {
		return out, fmt.Errorf("read classifier: this release holds none")
	}
	out.Answer = classifier.Answer(c, r)
	return out, nil
}
