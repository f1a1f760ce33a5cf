package agent

import (
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"caucus/dataset"
	"caucus/internal/yamlfile"
	"caucus/study"
)

// Card is what a site tells an operator's catalogue of a source, where it agrees:
// the columns of the schema with their bounds or codes, and the declared number
// of records, rounded down to two digits. It is made of the declaration, and of
// nothing that the file holds; taking part in studies tells as much. How the
// site's own file is written and mapped, and who declared it, is not in it.
type Card struct {
	Party   study.PartyID `json:"party" yaml:"party"`
	Source  string        `json:"source" yaml:"source"`
	Records int           `json:"records" yaml:"records"`
	Columns []CardColumn  `json:"columns" yaml:"columns"`
}

// CardColumn is one column of the schema. A number has bounds, in its own unit;
// a text codes.
type CardColumn struct {
	Column string   `json:"column" yaml:"column"`
	Min    *float64 `json:"min,omitempty" yaml:"min,omitempty"`
	Max    *float64 `json:"max,omitempty" yaml:"max,omitempty"`
	Codes  []string `json:"codes,omitempty" yaml:"codes,omitempty,flow"`
	// Label: it is what studies predict.
	Label bool `json:"label,omitempty" yaml:"label,omitempty"`
}

// Card makes the card of a declared source. That a person asked for it is in the
// audit log; it is theirs to hand on. An error wraps ErrUndeclared where nobody
// declared the source.
func (a *Agent) Card(name string, who Approver) (Card, error) {
	fail := func(err error) (Card, error) { return Card{}, fmt.Errorf("make card of source %s: %w", name, err) }
	if _, err := a.state.config.source(name); err != nil {
		return fail(err)
	}
	d, err := a.state.declaration(name)
	if err != nil {
		return fail(err)
	}
	by, err := who.name()
	if err != nil {
		return fail(err)
	}
	if err := a.state.audit.recordSource(auditCard, name, "records", d.Records, "by", by, "account", account()); err != nil {
		return fail(err)
	}
	return cardOf(a.state.party, d), nil
}

func cardOf(party study.PartyID, d Declaration) Card {
	c := Card{Party: party, Source: d.Source, Records: RoundDown(d.Records)}
	for _, f := range d.Schema.Features {
		names := []string{f.Column}
		if f.Column == "" {
			names, _ = dataset.ExpandNames(f.Columns) // a schema that was checked
		}
		for _, name := range names {
			column := CardColumn{Column: name, Codes: slices.Clone(f.Levels)}
			if f.Kind == dataset.Numeric {
				column.Min, column.Max = &f.Min, &f.Max
			}
			c.Columns = append(c.Columns, column)
		}
	}
	c.Columns = append(c.Columns, CardColumn{Column: d.Schema.Label.Column, Codes: d.Schema.Label.Classes, Label: true})
	return c
}

// WriteYAML writes the card as a file for the catalogue.
func (c Card) WriteYAML(w io.Writer) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(c); err != nil {
		return fmt.Errorf("write card: %w", err)
	}
	return e.Close()
}

// ReadCard reads a card's file.
func ReadCard(path string) (Card, error) {
	file, err := yamlfile.Read(path)
	if err != nil {
		return Card{}, fmt.Errorf("read card: %w", err)
	}
	var c Card
	if err := file.Decode(&c); err != nil {
		return Card{}, fmt.Errorf("read card: %w", err)
	}
	if c.Party == "" || c.Source == "" || len(c.Columns) == 0 {
		return Card{}, fmt.Errorf("read card: %s: it is no card, which names party, source and columns: caucus agent source card makes one", path)
	}
	return c, nil
}

// Lacks says what a study's schema asks for that the card does not have, or has with
// other bounds or codes; none where the source can take part as far as a card tells.
func (c Card) Lacks(s dataset.Schema) []string {
	have := map[string]CardColumn{}
	for _, column := range c.Columns {
		have[column.Column] = column
	}
	want := cardOf(c.Party, Declaration{Source: c.Source, Schema: s})
	var out []string
	for _, column := range want.Columns {
		own, ok := have[column.Column]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("no column %q", column.Column))
		case own.Label != column.Label:
			out = append(out, fmt.Sprintf("column %q is not the label in one of the two", column.Column))
		case !sameNumber(own.Min, column.Min) || !sameNumber(own.Max, column.Max):
			out = append(out, fmt.Sprintf("column %q has other bounds", column.Column))
		case !slices.Equal(own.Codes, column.Codes):
			out = append(out, fmt.Sprintf("column %q has other codes", column.Column))
		}
	}
	return out
}

func sameNumber(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
