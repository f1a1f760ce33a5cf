package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"caucus/aggregator/uploading"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/study"
)

// Output is one vector of a study: this site's numbers before noise, and the noise that is added.
type Output struct {
	Name string `json:"output"`
	// Values are exact and private. They are those that a study gets, before any noise.
	Values []int64 `json:"values"`
	// SD is the standard deviation of the noise on each number, nil if this site does not add the
	// noise.
	SD []float64 `json:"standard_deviation,omitempty"`
	// Most bounds how far one unit (Unit, such as a record) can change a number; 0 if the numbers
	// have weights.
	Most float64      `json:"one_moves,omitempty"`
	Unit privacy.Unit `json:"unit"`
	// Shared says that the numbers leave as two secret shares, so that nobody gets them in clear.
	Shared bool `json:"in_shares,omitempty"`

	// CountLines shows counts of records as text, a line for each column; nil if the numbers are
	// not such counts.
	CountLines []string `json:"lines,omitempty"`

	noise study.Noise
}

// Values returns this site's numbers for a study, before noise. If the site adds the noise, these
// are the numbers that it would release, else those that it would send. They are for the site only.
// Values sends, spends and stores nothing, and draws no noise.
func (k *Desk) Values(ctx context.Context, h study.Hash) ([]Output, error) {
	all, err := k.values(ctx, h)
	if err != nil {
		return nil, fmt.Errorf("show values of study %s: %w", h.String()[:16], err)
	}
	return all, nil
}

func (k *Desk) values(ctx context.Context, h study.Hash) ([]Output, error) {
	d := k.site.Studies.Folder(h)
	p, err := d.Plan()
	if err != nil {
		return nil, err
	}
	t, err := k.site.Task(p)
	if err != nil {
		return nil, fmt.Errorf("the public pool is not here yet: %w", err)
	}
	source, err := k.site.Sources.Of(p)
	if err != nil {
		return nil, err
	}
	n := cmp.Or(d.DeclaredRecords(), source.Counted(p))
	in, _, _, err := k.site.Sources.DeclaredRecords(p, n, study.TakesBlocks(t, n))
	if err != nil {
		return nil, err
	}
	var failed error
	fail := func(why error) { failed = why }
	in.Voter, in.Scorer = k.site.Voter(fail), k.site.Scorer(fail)
	if p.Noise.Shared() {
		asked, err := uploading.ExactRequests(t, in)
		if err = errors.Join(failed, err); err != nil {
			return nil, err
		}
		return unperturbed(ctx, t, asked, Output{noise: p.Noise, Shared: true})
	}
	made, err := t.Contribute(in)
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	asked := made.Requests
	if len(asked) == 0 {
		if asked, err = alone(t, made); err != nil {
			return nil, err
		}
	}
	return unperturbed(ctx, t, asked, Output{noise: p.Noise})
}

// alone returns the requests that an aggregator would make of its ledger if this were the only
// contribution.
func alone(t study.Task, c study.Contribution) ([]study.Request, error) {
	if _, keeps := t.(study.BodyKeeper); keeps {
		// parties of a Keeper release everything themselves, so a party without requests has no
		// records
		return nil, nil
	}
	body, err := c.Body(nil)
	if err != nil {
		return nil, err
	}
	sum, err := t.NewSum()
	if err != nil {
		return nil, err
	}
	if err := sum.Add(body); err != nil {
		return nil, err
	}
	return sum.Requests(1)
}

// unperturbed returns the values that the requests would release if no noise were drawn. It uses a
// simulated ledger and a mechanism whose results cannot be sent (privacy.Unperturbed). like gives
// the fields that all outputs share.
func unperturbed(ctx context.Context, t study.Task, asked []study.Request, like Output) ([]Output,
	error) {
	var out []Output
	exact := make([]study.Request, len(asked))
	for i, r := range asked {
		o := like
		o.Name, o.Most, o.Unit = r.Output, mostMoved(r.Sensitive.Bound()), r.Sensitive.Bound().Unit
		for j := range r.Sensitive.Len() {
			if o.noise.AddedAtSite() {
				o.SD = append(o.SD,
					math.Sqrt(privacy.VarianceOf(r.Mechanism, r.Sensitive.Bound(), j,
						r.Sensitive.Len())))
			}
		}
		out = append(out, o)
		exact[i] = r
		exact[i].Mechanism = privacy.Unperturbed{}
	}
	opened, err := study.ReleaseRequests(ctx, privacy.NewSimulation(0), t.Hash(), exact)
	if err != nil {
		return nil, err
	}
	for i, p := range opened {
		if !p.Simulated {
			return nil, errors.New("a preview's numbers must not be able to leave")
		}
		out[i].Values = p.Values
		if counter, ok := t.(study.Counter); ok {
			lines, record := counter.Counts(p.Values)
			out[i].CountLines, out[i].Most = lines, float64(record)
		}
	}
	return out, nil
}

func (o Output) writeTo(b *textpage.Page) {
	scale, in := 1.0, ""
	if len(o.CountLines) > 0 || o.Most == 1 {
		scale, in = o.Most, " "+unitsWords(o.Unit)
	} else if o.Most > 1 { // the numbers are scaled values, rounded to integers
		scale, in = o.Most, fmt.Sprintf(" times the most that one %s can move it", o.Unit)
	}
	who := o.noise.Trust().ServersGet
	if len(o.SD) > 0 {
		least, most := slices.Min(o.SD)/scale, slices.Max(o.SD)/scale
		if who = fmt.Sprintf("the noise on each: ± %.3g", least); most > least {
			who += fmt.Sprintf(" to %.3g", most)
		}
		who += in
	}
	b.Add("values", "%s: %d numbers before noise, for your eyes only; %s", o.Name, len(o.Values), who)
	if len(o.CountLines) == 0 {
		o.CountLines = []string{"--json shows them"}
	}
	for _, line := range o.CountLines {
		b.Add("", "%s", line)
	}
}
