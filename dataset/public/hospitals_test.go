package public

import (
	"bytes"
	"strings"
	"testing"

	"caucus/dataset"
)

func TestHospitals(t *testing.T) {
	c := DefaultHospitalConfig()
	table, s := Hospitals(c)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	r, remarks, err := s.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	if r.Len() != c.Records {
		t.Fatalf("%d records, want %d", r.Len(), c.Records)
	}
	for _, remark := range remarks {
		if remark.Problem != dataset.ProblemMissing && remark.Count > c.Records/50 {
			t.Errorf("generated data outside the schema: %v", remark)
		}
	}
	type tally struct{ records, readmitted int }
	sites, patients, homes := map[string]tally{}, map[string]int{}, map[string]map[string]bool{}
	total := 0
	for i, y := range r.Y {
		site := sites[r.Party[i]]
		sites[r.Party[i]] = tally{site.records + 1, site.readmitted + y}
		total += y
		patients[r.Patient[i]]++
		if homes[r.Patient[i]] == nil {
			homes[r.Patient[i]] = map[string]bool{}
		}
		homes[r.Patient[i]][r.Party[i]] = true
	}
	if share := float64(total) / float64(c.Records); share < 0.30 || share > 0.36 {
		t.Errorf("%.3f are readmitted, want about a third", share)
	}
	least, most, low, high := c.Records, 0, 1.0, 0.0
	for _, site := range sites {
		share := float64(site.readmitted) / float64(site.records)
		least, most = min(least, site.records), max(most, site.records)
		low, high = min(low, share), max(high, share)
	}
	if len(sites) != c.Sites || most < 5*least || high-low < 0.15 {
		t.Errorf("%d hospitals of %d to %d records, %.2f to %.2f readmitted: not unequal", len(sites), least, most, low, high)
	}
	several, elsewhere := 0, 0
	for key, n := range patients {
		if n > 1 {
			several++
		}
		if len(homes[key]) > 1 {
			elsewhere++
		}
	}
	if several < c.Records/10 || elsewhere == 0 || elsewhere > several/3 {
		t.Errorf("%d patients with several records, %d of them at several hospitals", several, elsewhere)
	}
}

// A linear model does well on the generated truth, clearly better than the majority class. The
// seeds are fixed.
func TestHospitalsAreLearnable(t *testing.T) {
	for seed := range uint64(3) {
		c := DefaultHospitalConfig()
		c.Seed = seed
		table, s := Hospitals(c)
		r, _, err := s.EncodeLabelled(table)
		if err != nil {
			t.Fatal(err)
		}
		m, err := dataset.FitPCA(r.X, 30, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		var half [2][]int
		for i := range r.Len() {
			half[i%2] = append(half[i%2], i)
		}
		train, test := r.Select(half[0]), r.Select(half[1])
		w := fitLogistic(m.Apply(train.X), train.Y, 500)
		got := accuracy(m.Apply(test.X), test.Y, w)
		majority := accuracy(m.Apply(test.X), test.Y, make([]float64, m.Dim()))
		t.Logf("seed %d: linear %.3f, majority class %.3f", seed, got, majority)
		if got < 0.80 || got > 0.88 || majority < 0.63 || majority > 0.71 {
			t.Errorf("seed %d: linear %.3f, majority class %.3f", seed, got, majority)
		}
	}
}

func TestHospitalsSeeded(t *testing.T) {
	written := func(seed uint64) string {
		c := DefaultHospitalConfig()
		c.Records, c.Seed = 50, seed
		table, _ := Hospitals(c)
		var out bytes.Buffer
		if err := table.WriteCSV(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if first, second := written(3), written(3); first != second {
		t.Error("equal seeds, different tables")
	}
	if written(3) == written(4) {
		t.Error("different seeds, equal tables")
	}
}

func TestHospitalConfigValidate(t *testing.T) {
	for want, change := range map[string]func(*HospitalConfig){
		"sites is 0":     func(c *HospitalConfig) { c.Sites = 0 },
		"records is -1":  func(c *HospitalConfig) { c.Records = -1 },
		"skew is -1":     func(c *HospitalConfig) { c.SizeSkew = -1 },
		"returns is 1":   func(c *HospitalConfig) { c.ReturningShare = 1 },
		"missing is 1.5": func(c *HospitalConfig) { c.Missing = 1.5 },
	} {
		c := DefaultHospitalConfig()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if table, _ := Hospitals(HospitalConfig{Sites: 3}); table.Rows() != 0 {
		t.Error("no records asked for, some made")
	}
}
