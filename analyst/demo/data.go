package demo

import (
	"math"
	"math/rand/v2"
	"strconv"

	"caucus/dataset"
	"caucus/dataset/public"
)

type dealt struct {
	name   string
	real   bool
	schema dataset.Schema
	pool   *dataset.Table
	// biased is the pool without two thirds of the rows of group.
	biased *dataset.Table
	group  string
	// explaining are the columns of the regression.
	explaining []string
	test       *dataset.Records
	even       *dataset.Records // test records, the same number of each class
	learn      *dataset.Records // pool and private records, for the simulated curves
	// clinics have half of the private records, at random, and devices have the other half. wards
	// have the clinics' records with uneven class shares.
	clinics, wards, devices []*dataset.Table
	followup                []*dataset.Table // of each clinic
	followupPool            *dataset.Table
	records                 int // number of records of clinics and devices
	// outcome is a condition on the label, and truth is its share among the private records.
	outcome string
	truth   float64
}

func (o Options) data() (dealt, error) {
	out := dealt{name: "generated hospital data", group: "age >= 60",
		explaining: []string{"age", "sex", "admissions_before"}}
	var table *dataset.Table
	if known, err := public.LoadKnownDataset("adult"); err == nil && o.DataSets != nil {
		table, err = known.Load(o.DataSets, "train")
		if err != nil {
			o.Note("note: %v; using generated hospital data", err)
		} else {
			out.name, out.real, out.schema, out.group = "adult (UCI, Becker & Kohavi 1996)", true,
				known.Schema, "sex == Male"
			out.explaining = []string{"age", "sex", "education-num"}
		}
	}
	if !out.real {
		c := public.DefaultHospitalConfig()
		c.Seed, c.Records = o.Seed, o.Records
		table, out.schema = public.Hospitals(c)
	}
	// drops the file's format, because files for agents have a header and commas
	out.schema = out.schema.WithoutFormat()
	rows := rand.New(rand.NewPCG(o.Seed, 2)).Perm(table.Rows())
	rows = rows[:min(len(rows), o.Records)]
	seventh := len(rows) / 7
	var err error
	if out.test, _, err = out.schema.EncodeLabelled(table.Select(rows[:2*seventh])); err != nil {
		return out, err
	}
	if out.learn, _, err = out.schema.EncodeLabelled(table.Select(rows[2*seventh:])); err != nil {
		return out, err
	}
	out.even = out.test.Select(balanced(out.test.Y, len(out.schema.Classes())))
	if err := out.dealPool(table, rows[2*seventh:3*seventh]); err != nil {
		return out, err
	}
	return out, o.deal(&out, table, rows[3*seventh:])
}

func (data *dealt) dealPool(table *dataset.Table, rows []int) error {
	data.pool = table.Select(rows)
	condition, err := dataset.ParseCondition(data.group)
	if err != nil {
		return err
	}
	member, err := condition.Rows(data.pool)
	if err != nil {
		return err
	}
	var kept []int
	members := 0
	for i, row := range rows {
		if member[i] {
			members++
		}
		if !member[i] || members%3 == 0 {
			kept = append(kept, row)
		}
	}
	data.biased = table.Select(kept)
	return nil
}

func (o Options) deal(data *dealt, table *dataset.Table, private []int) error {
	data.records = len(private)
	clinics := private[:len(private)/2]
	records, _, err := data.schema.EncodeLabelled(table.Select(clinics))
	if err != nil {
		return err
	}
	last := len(data.schema.Classes()) - 1
	data.outcome = data.schema.Label.Column + " == " + strconv.Quote(data.schema.Classes()[last])
	var with, without []int
	for i, y := range records.Y {
		if y == last {
			with = append(with, clinics[i])
		} else {
			without = append(without, clinics[i])
		}
	}
	data.truth = float64(len(with)) / float64(len(clinics))
	data.clinics = evenly(table, clinics, o.Parties)
	data.devices = evenly(table, private[len(private)/2:], o.Devices)
	for _, mine := range uneven(with, without, o.Parties) {
		data.wards = append(data.wards, table.Select(mine))
	}
	return o.dealFollowup(data)
}

func evenly(table *dataset.Table, rows []int, parties int) (out []*dataset.Table) {
	for i := range parties {
		var mine []int
		for j := i; j < len(rows); j += parties {
			mine = append(mine, rows[j])
		}
		out = append(out, table.Select(mine))
	}
	return out
}

// uneven deals the records with and without an outcome to parties of equal size. The outcome's
// share rises from a fifth of the mean at the first party to nine fifths at the last.
func uneven(with, without []int, parties int) [][]int {
	out := make([][]int, parties)
	all := len(with) + len(without)
	mean := float64(len(with)) / float64(all)
	due, given := 0.0, 0 // numbers of records with the outcome
	for i := range out {
		size := all*(i+1)/parties - all*i/parties
		due += mean * (0.2 + 1.6*float64(i)/float64(parties-1)) * float64(size)
		n := min(int(math.Round(due))-given, len(with))
		given += n
		m := min(size-n, len(without))
		out[i] = append(append(out[i], with[:n]...), without[:m]...)
		with, without = with[n:], without[m:]
	}
	return out
}

func balanced(y []int, classes int) []int {
	of := make([][]int, classes)
	for i, k := range y {
		if k >= 0 {
			of[k] = append(of[k], i)
		}
	}
	least := len(y)
	for _, rows := range of {
		least = min(least, len(rows))
	}
	var out []int
	for _, rows := range of {
		out = append(out, rows[:least]...)
	}
	return out
}
