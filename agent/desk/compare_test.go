package desk_test

import (
	"strings"
	"testing"

	"caucus/study"
)

// TestRecordsOfASmallSite: a site with too few records for a study can still compare its release
// with them; a site that lacks a column cannot.
func TestRecordsOfASmallSite(t *testing.T) {
	r := newSite(t, func(p *study.Proposal) { p.Records = 2000 })
	a := ask(t, r)
	p := r.StudyPlan.Plan
	d, err := a.site.Sources.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(d.Objections(p), "; "); !strings.Contains(got, "at least 2000 records") {
		t.Fatalf("objections are %q: this test cannot fail", got)
	}
	records, err := a.Records(p)
	if err != nil || records.Len() != 61 {
		t.Errorf("%v, %v: want the 61 records of its file", records, err)
	}
	p.Schema.Label.Column = "dead"
	if _, err := a.Records(p); err == nil || !strings.Contains(err.Error(), `dead`) {
		t.Errorf("of a label that the source lacks: %v", err)
	}
}
