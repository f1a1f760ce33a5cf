package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"caucus/agent/source"
	"caucus/analyst/terms"
	"caucus/auxdata"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
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
	// perPatient, if above 0, keeps as many records of each patient, as sites do: one at unit
	// patient, by the rule of choose.
	perPatient int64
	choose     study.Choice

	format  dataset.Format // format of the files, set by tables
	reading input.ReadOptions
	// poolMapping is the mapping of the pool's file, which may have another format than the
	// records' files.
	poolMapping string
}

func (rf *recordsFrom) of(of terms.Study) {
	common := of.Simulate.Common()
	rf.train, rf.test, rf.pool, rf.schema, rf.known = common.Train, common.Test, of.Pool, of.Schema,
		common.Dataset
	rf.partyColumn, rf.poolWhere, rf.where, rf.holdOut = common.PartyColumn, common.PoolWhere,
		of.Where,
		common.HoldOut
	rf.records, rf.seed = generate(of), of.Seed
	if rf.perPatient, rf.choose = of.PerPatient, of.Choose; of.Unit == privacy.Patient {
		rf.perPatient = 1
	}
}

// loaded holds the records of a source. pool and test may be nil.
type loaded struct {
	schema            dataset.Schema
	train, test, pool *dataset.EncodedTable
	poolTable         *dataset.Table // the pool's rows as they are in the file
	poolWeight        []float64      // weights in the pool's file
}

// load reads and encodes the records, and prints notes on how the schema changed them.
func (rf *recordsFrom) load(c *console.Console) (loaded, error) {
	schema, train, test, err := rf.tables(c)
	if err != nil {
		return loaded{}, err
	}
	if rf.partyColumn != "" {
		schema.Party = rf.partyColumn
		if !train.Has(rf.partyColumn) {
			return loaded{}, fmt.Errorf("there is no party column %q; the columns are %s",
				rf.partyColumn, strings.Join(train.Columns(), ", "))
		}
	}
	out := loaded{schema: schema}
	var pool *dataset.Table
	if rf.pool != "" {
		if pool, err = (&input.ReadOptions{MappingFile: rf.poolMapping}).Table(c, rf.pool, schema,
			rf.format); err != nil {
			return loaded{}, err
		}
		out.poolTable = pool
		if out.poolWeight, err = auxdata.Weights(pool); err != nil {
			return loaded{}, fmt.Errorf("%s: %w", rf.pool, err)
		}
	}
	if rf.poolWhere != "" {
		if pool != nil {
			return loaded{}, console.Usagef("give a pool or pool_where, not both")
		}
		column, value, ok := strings.Cut(rf.poolWhere, "=")
		if !ok || !train.Has(column) {
			return loaded{}, console.Usagef("pool_where %q: want COLUMN=VALUE with a column of %s", rf.poolWhere, strings.Join(train.Columns(), ", "))
		}
		pool, train = divide(train, column, value)
		if test != nil {
			_, test = divide(test, column, value)
		}
		if pool.Rows() == 0 || train.Rows() == 0 {
			return loaded{}, fmt.Errorf("pool_where %s leaves %d rows for the pool and %d for the parties: choose a value that both have", rf.poolWhere, pool.Rows(), train.Rows())
		}
	}
	if rf.perPatient > 0 {
		train, test = rf.patientsOf(train, schema), rf.patientsOf(test, schema)
	}
	for _, part := range []struct {
		name     string
		table    *dataset.Table
		to       **dataset.EncodedTable
		labelled bool
	}{{"train", train, &out.train, true}, {"test", test, &out.test, true},
		{"pool", pool, &out.pool, false}} {
		if part.table == nil {
			continue
		}
		hold := schema.EncodeLazily
		if part.labelled {
			hold = func(t *dataset.Table) (*dataset.EncodedTable, []dataset.Remark, error) {
				return study.Plan{Where: rf.where}.EncodeLazily(schema, t)
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
			if rf.known != "" || rf.train != "" { // there are no notes about generated records
				c.Note("note: %s: %s", part.name, r)
			}
		}
	}
	return out, nil
}

// tables reads the files, or generates records, and returns the schema of their columns.
func (rf *recordsFrom) tables(c *console.Console) (schema dataset.Schema,
	train, test *dataset.Table,
	err error) {
	switch {
	case rf.known != "" && rf.train != "":
		return schema, nil, nil, console.Usagef("give --dataset or --train, not both")
	case rf.known != "" && (rf.test != "" || rf.schema != ""):
		return schema, nil, nil, console.Usagef("--dataset has a schema and test records of its own: leave the study's schema and test out, or give --train")
	case rf.known != "" && rf.reading.AnyFlagSet():
		return schema, nil, nil, console.Usagef("--dataset knows how its files are written: leave --mapping, --delimiter, --encoding, --decimal and --sheet out")
	case rf.known != "":
		known, err := public.LoadKnownDataset(rf.known)
		if err != nil {
			return schema, nil, nil, console.Usagef("%w", err)
		}
		if rf.dataDir == "" {
			return schema, nil, nil, console.Usagef("say where the data sets are: --data-dir DIR or CAUCUS_DATA; %s comes from %s", known.Name, known.Source)
		}
		dir := c.InputFolder(rf.dataDir)
		if train, err = known.Load(dir, "train"); err != nil {
			return schema, nil, nil, err
		}
		if known.HasTest() && !rf.holdOut {
			if test, err = known.Load(dir, "test"); err != nil {
				return schema, nil, nil, err
			}
		}
		rf.format = known.Schema.Format()
		return known.Schema.WithoutFormat(), train, test, nil
	case rf.train != "":
		if rf.schema == "" {
			return schema, nil, nil, console.Usagef("--train needs --schema; draft one from public data with: caucus dataset schema %s", rf.train)
		}
		if schema, err = source.ReadSchema(rf.schema); err != nil {
			return schema, nil, nil, err
		}
		rf.format = schema.Format()
		rf.reading.Lenient = true
		if train, err = rf.reading.Table(c, rf.train, schema, rf.format); err != nil {
			return schema, nil, nil, err
		}
		if rf.test != "" {
			if test, err = rf.reading.Table(c, rf.test, schema, rf.format); err != nil {
				return schema, nil, nil, err
			}
		}
		return schema.WithoutFormat(), train, test, nil
	case rf.test != "" || rf.schema != "":
		return schema, nil, nil, console.Usagef("there are no records for the parties: give --train FILE with labelled records that the study's schema describes, or ask caucus forecast, which makes records up")
	}
	config := public.DefaultHospitalConfig()
	config.Seed = rf.seed
	config.Records = rf.records
	if rf.records < 100 {
		return schema, nil, nil, console.Usagef("generate: %d: give at least 100", rf.records)
	}
	train, schema = public.Hospitals(config)
	return schema, train, nil, nil
}

// patientsOf returns at most perPatient records of each patient of a party, chosen before any
// condition by the study's rule, and at random where sites choose by key; and no record without a
// patient's number.
// A schema without a patient column leaves t as it is: plans at unit patient are refused.
func (rf *recordsFrom) patientsOf(t *dataset.Table, s dataset.Schema) *dataset.Table {
	if t == nil || !t.Has(s.Patient) {
		return t
	}
	day := func(i int) float64 {
		text, _ := t.Cell(i, s.PatientDate)
		v, ok := dataset.ParseNumber(text)
		switch {
		case !ok:
			return math.Inf(1)
		case rf.choose == study.Last:
			return -v
		}
		return v
	}
	order := rand.New(rand.NewPCG(rf.seed, 1)).Perm(t.Rows())
	if rf.choose != study.ByKey {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(day(i), day(j)) })
	}
	seen, rows := map[[2]string]int64{}, []int{}
	for _, i := range order {
		number, _ := t.Cell(i, s.Patient)
		party, _ := t.Cell(i, s.Party)
		if who := [2]string{party, number}; number != "" && number != s.Missing &&
			seen[who] < rf.perPatient {
			seen[who]++
			rows = append(rows, i)
		}
	}
	slices.Sort(rows)
	return t.Select(rows)
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
