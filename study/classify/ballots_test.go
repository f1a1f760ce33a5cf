package classify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// patients returns two records for each of n patients, with labels none, 0 and 1 in turn.
func patients(n int) *dataset.Records {
	r := &dataset.Records{X: mat.NewDense(2*n, 1, nil)}
	for i := range 2 * n {
		r.X.Set(i, 0, float64(i))
		r.Y, r.Patient = append(r.Y, i%3-1), append(r.Patient, fmt.Sprint(i/2))
	}
	return r
}

func TestPatientsStayTogether(t *testing.T) {
	records := patients(500)
	shard := map[string]int{}
	for s, rows := range shardsOf(privacy.Record, 7, study.NewInputs(records, []byte("key"))) {
		for _, i := range rows {
			if had, ok := shard[records.Patient[i]]; ok && had != s {
				t.Fatalf("patient %s is in shards %d and %d", records.Patient[i], had, s)
			}
			shard[records.Patient[i]] = s
		}
	}
	if len(shard) != 500 {
		t.Errorf("%d patients are in shards, want 500", len(shard))
	}
}

// TestUnlabelledTrainNothing: every labelled record is in one shard, and no other record is in any.
// So no shard takes longer because of the empty records that pad a file.
func TestUnlabelledTrainNothing(t *testing.T) {
	records := patients(30)
	for _, shards := range []int{1, 4} {
		var all []int
		for _, rows := range shardsOf(privacy.Record, shards,
			study.NewInputs(records, []byte("key"))) {
			all = append(all, rows...)
		}
		slices.Sort(all)
		var want []int
		for i, y := range records.Y {
			if y >= 0 {
				want = append(want, i)
			}
		}
		if !slices.Equal(all, want) {
			t.Errorf("%d shards learn from rows %v, want %v", shards, all, want)
		}
	}
}

// counted is a context that counts the calls of Err, one for each piece of a learner's work.
type counted struct {
	context.Context
	asked int
}

func (c *counted) Err() error { c.asked++; return c.Context.Err() }

// TestWorkIsThere: the amount of training work stays within a fifth, however few of a site's
// records meet a condition, and whatever their labels are. Without made-up records there would be
// no work below eight records.
func TestWorkIsThere(t *testing.T) {
	schema, err := dataset.ParseSchema(strings.NewReader("label: {column: ill, classes: [\"no\", \"yes\"]}\nfeatures: [{column: a, kind: numeric, min: 0, max: 1}, {column: b, kind: numeric, min: 0, max: 1}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := dataset.ReadCSV(strings.NewReader("a,b\n.1,.2\n.3,.9\n"), dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	pool, _, err := auxdata.New(schema, dataset.Identity(schema), table)
	if err != nil {
		t.Fatal(err)
	}
	const n = 400
	p := study.Plan{Unit: privacy.Record, Schema: schema, Map: dataset.Identity(schema)}
	work := func(about int, oneClass bool) int {
		records := madeUp(schema, n, rand.New(rand.NewPCG(1, 2)))
		for i := range records.Y {
			if i >= about {
				records.Y[i] = -1
			} else if oneClass {
				records.Y[i] = 1
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		c := &counted{Context: ctx}
		for _, key := range []string{"a", "b", "c", "d"} { // each a forest of other draws
			in := study.NewInputs(records, []byte(key))
			in.TimeLimit = func() (context.Context, func(bool)) { return c, func(bool) {} }
			if tally := localTally(p, Terms{Shards: 1, Learner: "forest"}, pool,
				in); tally.Ballots() != 1 {
				t.Fatalf("%d ballots", tally.Ballots())
			}
		}
		return c.asked
	}
	all := work(n, false)
	for _, about := range []int{0, 1, 3, 7, 8, 40, 200, 380} {
		if got := work(about, false); got < all*4/5 || got > all*6/5 {
			t.Errorf("a condition that holds for %d of %d records: %d pieces of work, of all records %d", about, n, got, all)
		}
	}
	if got := work(n, true); got < all*4/5 {
		t.Errorf("records of one class: %d pieces of work, of both %d", got, all)
	}
}
