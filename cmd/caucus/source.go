package main

import (
	"fmt"
	"strings"

	"caucus/agent/source"
	"caucus/analyst/terms"
	"caucus/auxdata"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/study"
)

// recordsFrom says where records come from: files with a schema, a known data set, or made-up
// hospitals.
type recordsFrom struct {
	train, test, pool, schema string
	known, dataDir            string
	partyColumn, poolWhere    string
	// where is the study's condition on records, "" for all records.
	where   string
	holdOut bool
	records int
	seed    uint64

	format  dataset.Format // format of the files, set by tables
	reading input.Reading
	// poolMapping is the mapping of the pool's file, which may have another format than the
	// records' files.
	poolMapping string
}

func (s *recordsFrom) of(of terms.Study) {
	common := of.Simulate.Common()
	s.train, s.test, s.pool, s.schema, s.known = common.Train, common.Test, of.Pool, of.Schema,
		common.Dataset
	s.partyColumn, s.poolWhere, s.where, s.holdOut = common.PartyColumn, common.PoolWhere, of.Where,
		common.HoldOut
	s.records, s.seed = generate(of), of.Seed
}

// loaded holds the records of a source. pool and test may be nil.
type loaded struct {
	schema            dataset.Schema
	train, test, pool *dataset.Held
	poolTable         *dataset.Table // the pool's rows as they are in the file
	poolWeight        []float64      // weights in the pool's file
}

// load reads and encodes the records, and prints notes on how the schema changed them.
func (s *recordsFrom) load(c *console.Console) (loaded, error) {
	schema, train, test, err := s.tables(c)
	if err != nil {
		return loaded{}, err
	}
	if s.partyColumn != "" {
		schema.Party = s.partyColumn
		if !train.Has(s.partyColumn) {
			return loaded{}, fmt.Errorf("there is no party column %q; the columns are %s",
				s.partyColumn, strings.Join(train.Columns(), ", "))
		}
	}
	out := loaded{schema: schema}
	var pool *dataset.Table
	if s.pool != "" {
		if pool, err = (&input.Reading{MappingFile: s.poolMapping}).Table(c, s.pool, schema,
			s.format); err != nil {
			return loaded{}, err
		}
		out.poolTable = pool
		if out.poolWeight, err = auxdata.Weights(pool); err != nil {
			return loaded{}, fmt.Errorf("%s: %w", s.pool, err)
		}
	}
	if s.poolWhere != "" {
		if pool != nil {
			return loaded{}, console.Usagef("give a pool or pool_where, not both")
		}
		column, value, ok := strings.Cut(s.poolWhere, "=")
		if !ok || !train.Has(column) {
			return loaded{}, console.Usagef("pool_where %q: want COLUMN=VALUE with a column of %s", s.poolWhere, strings.Join(train.Columns(), ", "))
		}
		pool, train = divide(train, column, value)
		if test != nil {
			_, test = divide(test, column, value)
		}
		if pool.Rows() == 0 || train.Rows() == 0 {
			return loaded{}, fmt.Errorf("pool_where %s leaves %d rows for the pool and %d for the parties: choose a value that both have", s.poolWhere, pool.Rows(), train.Rows())
		}
	}
	for _, part := range []struct {
		name     string
		table    *dataset.Table
		to       **dataset.Held
		labelled bool
	}{{"train", train, &out.train, true}, {"test", test, &out.test, true},
		{"pool", pool, &out.pool, false}} {
		if part.table == nil {
			continue
		}
		hold := schema.Hold
		if part.labelled {
			hold = func(t *dataset.Table) (*dataset.Held, []dataset.Remark, error) {
				return study.Plan{Where: s.where}.Hold(schema, t)
			}
		}
		records, remarks, err := hold(part.table)
		if err != nil {
			return loaded{}, fmt.Errorf("%s records: %w", part.name, err)
		}
		if records.Len() == 0 {
			return loaded{}, fmt.Errorf("the %s file has no records", part.name)
		}
		*part.to = records
		for _, r := range remarks {
			if s.known != "" || s.train != "" { // there are no notes about generated records
				c.Note("note: %s: %s", part.name, r)
			}
		}
	}
	return out, nil
}

// tables reads the files, or generates records, and returns the schema of their columns.
func (s *recordsFrom) tables(c *console.Console) (schema dataset.Schema, train, test *dataset.Table,
	err error) {
	switch {
	case s.known != "" && s.train != "":
		return schema, nil, nil, console.Usagef("give --dataset or --train, not both")
	case s.known != "" && (s.test != "" || s.schema != ""):
		return schema, nil, nil, console.Usagef("--dataset has a schema and test records of its own: leave the study's schema and test out, or give --train")
	case s.known != "" && s.reading.Given():
		return schema, nil, nil, console.Usagef("--dataset knows how its files are written: leave --mapping, --delimiter, --encoding, --decimal and --sheet out")
	case s.known != "":
		known, err := dataset.LoadKnown(s.known)
		if err != nil {
			return schema, nil, nil, console.Usagef("%w", err)
		}
		if s.dataDir == "" {
			return schema, nil, nil, console.Usagef("say where the data sets are: --data-dir DIR or CAUCUS_DATA; %s comes from %s", known.Name, known.Source)
		}
		dir := c.Folder(s.dataDir)
		if train, err = known.Load(dir, "train"); err != nil {
			return schema, nil, nil, err
		}
		if known.HasTest() && !s.holdOut {
			if test, err = known.Load(dir, "test"); err != nil {
				return schema, nil, nil, err
			}
		}
		s.format = known.Schema.Format()
		return known.Schema.Meaning(), train, test, nil
	case s.train != "":
		if s.schema == "" {
			return schema, nil, nil, console.Usagef("--train needs --schema; draft one from public data with: caucus dataset schema %s", s.train)
		}
		if schema, err = source.ReadSchema(s.schema); err != nil {
			return schema, nil, nil, err
		}
		s.format = schema.Format()
		s.reading.Lenient = true
		if train, err = s.reading.Table(c, s.train, schema, s.format); err != nil {
			return schema, nil, nil, err
		}
		if s.test != "" {
			if test, err = s.reading.Table(c, s.test, schema, s.format); err != nil {
				return schema, nil, nil, err
			}
		}
		return schema.Meaning(), train, test, nil
	case s.test != "" || s.schema != "":
		return schema, nil, nil, console.Usagef("there are no records for the parties: give --train FILE with labelled records that the study's schema describes, or ask caucus forecast, which makes records up")
	}
	config := dataset.DefaultHospitalConfig()
	config.Seed = s.seed
	config.Records = s.records
	if s.records < 100 {
		return schema, nil, nil, console.Usagef("generate: %d: give at least 100", s.records)
	}
	train, schema = dataset.Hospitals(config)
	return schema, train, nil, nil
}

func divide(t *dataset.Table, column, value string) (matching, others *dataset.Table) {
	var in, out []int
	for i := range t.Rows() {
		if cell, _ := t.Cell(i, column); strings.TrimSpace(cell) == value {
			in = append(in, i)
		} else {
			out = append(out, i)
		}
	}
	return t.Select(in), t.Select(out)
}
