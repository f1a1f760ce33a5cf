package agent

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"caucus/dataset"
	"caucus/study"
)

// ErrSource is wrapped by every failure to read a data source. It is about the
// file and its columns, never about a record, and stays on this machine.
var ErrSource = errors.New("data source")

// Source is one set of records of a site.
type Source struct {
	// File is CSV, packed with gzip or not.
	File string `koanf:"file"`
	// Schema, where given, is the site's own schema file. A plan must then mean
	// the same by every column; how the file is written (delimiter, header,
	// comments) is the site's schema's to say.
	Schema string `koanf:"schema"`
}

// Read encodes the records under a plan's schema. Odd cells are never an
// error: the remarks count them, for the site's eyes only. No records are no
// error either.
func (s Source) Read(plan dataset.Schema) (*dataset.Records, []dataset.Remark, error) {
	fail := func(err error) (*dataset.Records, []dataset.Remark, error) {
		return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	format := plan.Format()
	if s.Schema != "" {
		own, err := readSchema(s.Schema)
		if err != nil {
			return fail(err)
		}
		if err := sameMeaning(own, plan); err != nil {
			return fail(fmt.Errorf("%s: %w", s.Schema, err))
		}
		format = own.Format()
	}
	file, err := os.Open(s.File)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	table, err := dataset.ReadCSV(file, format)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", s.File, unread(err)))
	}
	records, remarks, err := plan.EncodeLabelled(table)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", s.File, unlike(plan, table)))
	}
	return records, remarks, nil
}

// records are those of a plan: with the column that names their sets, where it
// asks for one.
func (s Source) records(p study.Plan) (*dataset.Records, []dataset.Remark, error) {
	records, remarks, err := s.Read(p.Schema)
	if err == nil && p.Ratio != nil && p.Ratio.Sets == study.SetsColumn && records.Party == nil {
		return nil, nil, fmt.Errorf("%w: %s: no column %q, which names the set of each record: add it, or ask for a plan with sets: party", ErrSource, s.File, p.Schema.Party)
	}
	return records, remarks, err
}

// unread is why a file is not a table, without a word of what it holds: where a
// header is missing the names of its columns are a record.
func unread(err error) error {
	var path *fs.PathError
	var parse *csv.ParseError
	switch {
	case errors.As(err, &path):
		return path
	case errors.As(err, &parse):
		return parse // says line, column and what is wrong there
	}
	return errors.New("it cannot be read as a table: check that it is whole, its header and delimiter, and that all lines have as many cells; if it has no header, list its names under columns in this site's schema")
}

// unlike says which of the schema's columns a table lacks. Of its own columns
// it says only how many there are.
func unlike(plan dataset.Schema, t *dataset.Table) error {
	needed := append(plan.FeatureColumns(), plan.Label.Column)
	if plan.Patient != "" {
		needed = append(needed, plan.Patient)
	}
	missing := slices.DeleteFunc(needed, t.Has)
	const most = 12
	more := ""
	if n := len(missing) - most; n > 0 {
		missing, more = missing[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("no column %q%s; the file has %d columns: rename them or correct the schema; if the file has no header, list its names under columns in this site's schema",
		strings.Join(missing, ", "), more, len(t.Columns()))
}

func readSchema(path string) (dataset.Schema, error) {
	file, err := os.Open(path)
	if err != nil {
		return dataset.Schema{}, err
	}
	defer file.Close()
	s, err := dataset.ParseSchema(file)
	if err != nil {
		return dataset.Schema{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// sameMeaning compares what the columns mean: label, features and what stands
// for a missing value.
func sameMeaning(own, plan dataset.Schema) error {
	for _, part := range []struct {
		name      string
		own, plan any
	}{
		{"label", own.Label, plan.Label}, {"features", own.Features, plan.Features},
		{"missing", own.Missing, plan.Missing}, {"patient", own.Patient, plan.Patient},
	} {
		a, err := json.Marshal(part.own)
		if err != nil {
			return err
		}
		b, err := json.Marshal(part.plan)
		if err != nil {
			return err
		}
		if string(a) != string(b) {
			return fmt.Errorf("the plan's %s is not this site's: ask the study's contact for a plan with the same schema, or change this one", part.name)
		}
	}
	return nil
}
