package source

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/regress"
	"caucus/study/survival"
)

const patientSchema = wardSchema + "patient: nr\npatient_date: day\n"

var patientColumns = []string{"age", "sex", "ill", "nr", "day"}

// patientStudies lists a study at unit patient for each kind that claims this unit, with and
// without a condition, by each rule that the kind allows; or, with perPatient, studies at unit
// record in which as many records of a patient count.
func patientStudies(t *testing.T, schema dataset.Schema, perPatient int64) (all []study.Task) {
	t.Helper()
	var rows [][]string
	for i := range 100 {
		rows = append(rows, []string{fmt.Sprint(i), []string{"f", "m", "d"}[i*7%3]})
	}
	pool, err := dataset.NewTable([]string{"age", "sex"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	model, err := judged.Coefficients{Coefficients: map[string]float64{"age": .02,
		"sex=m": .5}}.Model(schema)
	if err != nil {
		t.Fatal(err)
	}
	terms := func(v any) []byte {
		text, err := study.EncodeTerms(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, where := range []string{"", "age > 5 and ill == yes"} {
		for _, of := range []study.Proposal{
			{Kind: "classify", Mechanism: "cross"}, {Kind: "describe"},
			{Kind: "describe", KindTerms: terms(describe.Terms{Bins: 3, By: "sex"})},
			{Kind: "evaluate", KindTerms: terms(evaluate.Terms{Model: model})}, {Kind: "reweigh"},
			{Kind: "survival", KindTerms: terms(survival.Terms{Time: "age", Until: 80, Bins: 4,
				Event: survival.Event{Column: "ill", Is: "yes"}})},
			{Kind: "regress", KindTerms: terms(regress.Terms{Columns: []string{"age"}})},
		} {
			of.Name, of.SourceName, of.Unit, of.Epsilon, of.Records = "s", "ward", privacy.Patient,
				1, 3
			of.Roster, of.Minimum, of.Where = []study.PartyID{"a", "b"}, 2, where
			of.Deadline = time.Now().Add(time.Hour)
			choices := study.Choices()
			if of.PerPatient = perPatient; perPatient > 0 {
				of.Unit, choices = privacy.Record, []study.Choice{study.ByKey}
			}
			for _, of.Choose = range choices {
				made, err := planning.ProposePlan(of, schema, pool)
				if of.Kind == "survival" && of.Choose == study.Last {
					if err == nil || !strings.Contains(err.Error(), "too high") {
						t.Errorf("survival of last records: %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(of.Kind, err)
				}
				task, err := kinds.NewTask(made.Plan, made.Pool)
				if err != nil {
					t.Fatal(of.Kind, err)
				}
				all = append(all, task)
			}
		}
	}
	return all
}

// every names the table of all records of a file.
const every study.Choice = "every"

// chosenOf makes the tables of one record of each patient of a file's rows, by each rule, and the
// table of all records.
func chosenOf(t *testing.T, schema dataset.Schema, rows [][]string) map[study.Choice]table {
	t.Helper()
	all := map[study.Choice]table{}
	coding := schema.Coding()
	coder, err := coding.Coder(patientColumns, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	dir, record := t.TempDir(), make([]byte, coding.Width())
	s, one := newSorter(coding, []byte("key"), dir), newChoices(schema, []byte("key"))
	for _, row := range rows {
		coder.Code(row, record)
		one.add(record)
		if err := s.add(record); err != nil {
			t.Fatal(err)
		}
	}
	for i, by := range append(study.Choices(), every) {
		rows, takes := s.rows, func([]byte) bool { return true }
		if by != every {
			rows, takes = len(one.of), one.taker(i)
		}
		file, err := os.Create(filepath.Join(dir, "patients"))
		if err == nil {
			_, err = s.write(file, rows, takes)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		out, err := openTable(file.Name(), coding)
		if err != nil {
			t.Fatal(err)
		}
		out.block = inMemoryBlocks(t, out)
		all[by] = out
	}
	return all
}

// inMemoryBlocks reads a table's blocks once, so that the table serves many studies.
func inMemoryBlocks(t *testing.T, of table) func(int) (dataset.CodedBlock, error) {
	var all []dataset.CodedBlock
	for i := range of.head.blocks() {
		b, err := of.block(i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	if err := of.close(); err != nil {
		t.Fatal(err)
	}
	return func(i int) (dataset.CodedBlock, error) { return all[i], nil }
}

// vectorAt returns the private vector of a study for a site's table, and its bound.
func vectorAt(t *testing.T, task study.Task, from table, n int, blocks bool) ([]int64,
	privacy.Bound) {
	t.Helper()
	from.close = func() error { return nil }
	h := &StudyRecords{plan: task.Plan(), table: from,
		most: capOf(task.Plan(), Declaration{Schema: task.Plan().Schema})}
	in := study.NewInputs(nil, []byte("key"))
	if blocks {
		in.Blocks = h.Blocks(n)
	} else {
		all, err := h.All()
		if err != nil {
			t.Fatal(err)
		}
		in.Records = ordered(task.Plan(), all, n, []byte("key"))
	}
	made, err := task.Contribute(in)
	if err != nil {
		t.Fatal(err)
	}
	a := made.Requests[0]
	r, err := privacy.NewSimulation(1).Release(context.Background(), a.Output, a.Sensitive,
		privacy.Unperturbed{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Values, a.Sensitive.Bound()
}

// TestPatientsAreNeighbours replaces one patient by another, for all pairs of patients with up to
// three records of odd values and days, in files of any order, under cuts and fills, for every kind
// that claims unit patient, by every rule. A patient whose new number is known at the site moves
// twice as much at most.
func TestPatientsAreNeighbours(t *testing.T) { arePatientsNeighbours(t, 0) }

// TestCappedPatientsAreNeighbours: likewise at unit record, where at most k records of a patient
// count: a patient moves k times the bound for a record at most.
func TestCappedPatientsAreNeighbours(t *testing.T) {
	for k := range int64(2) {
		arePatientsNeighbours(t, k+1)
	}
}

func arePatientsNeighbours(t *testing.T, perPatient int64) {
	t.Helper()
	unit, steps := privacy.Patient, 1.
	if perPatient > 0 {
		unit, steps = privacy.Record, float64(perPatient)
	}
	schema, err := dataset.ParseSchema(strings.NewReader(patientSchema))
	if err != nil {
		t.Fatal(err)
	}
	odd := [][]string{{"", "f", "yes", ""}, {"80", "m", "no", "7"}, {"1e308", "d", "yes", "-3"},
		{"x", "", "?", "x"}, {"3", "f", "no", "7"}}
	var patients [][][]string
	for i := range odd {
		patients = append(patients, [][]string{odd[i]})
		for j := range i + 1 {
			patients = append(patients, [][]string{odd[i], odd[j]})
			for k := range j + 1 {
				patients = append(patients, [][]string{odd[i], odd[j], odd[k]})
			}
		}
	}
	others := [][]string{{"30", "f", "no", "p", "7"}, {"31", "m", "yes", "p", "8"},
		{"60", "m", "no", "q", "6"}, {"77", "f", "yes", "r", ""}, {"12", "f", "yes", "", "1"},
		{"13", "m", "no", "", "9"}}
	rng := rand.New(rand.NewPCG(4, 5))
	file := func(number string, records [][]string) [][]string {
		rows := slices.Clone(others)
		for _, r := range records {
			rows = append(rows, []string{r[0], r[1], r[2], number, r[3]})
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		return rows
	}
	var first, second, known []map[study.Choice]table
	for _, p := range patients {
		first = append(first, chosenOf(t, schema, file("a", p)))
		second = append(second, chosenOf(t, schema, file("b", p)))
		known = append(known, chosenOf(t, schema, file("q", p)))
	}
	for _, task := range testlevel.Of(t, patientStudies(t, schema, perPatient), 12) {
		for _, n := range []int{2, 4, 6} {
			for _, blocks := range []bool{true, false} {
				if blocks && !study.TakesBlocks(task, n) {
					continue
				}
				var bound privacy.Bound
				of := func(tables []map[study.Choice]table) (all [][]int64) {
					for _, from := range tables {
						chosen := from[task.Plan().Choose]
						if perPatient > 0 {
							chosen = from[every]
						}
						v, b := vectorAt(t, task, chosen, n, blocks)
						bound, all = b, append(all, v)
					}
					return all
				}
				a, b, q := of(first), of(second), of(known)
				if bound.Unit != unit || bound.PerPatient != perPatient {
					t.Fatalf("%s: the bound is for a %s, with %d records a patient", task.Plan().Kind,
						bound.Unit, bound.PerPatient)
				}
				moves := false
				apart := func(x, y []int64, times float64) {
					l1, l2sq := 0., 0.
					for i := range x {
						d, w := float64(x[i]-y[i]), 1.
						if bound.Weight != nil {
							w = float64(bound.Weight[i])
						}
						l1, l2sq = l1+math.Abs(d), l2sq+w*d*d
					}
					if bound.L1 > 0 && l1 > times*float64(bound.L1) ||
						bound.L2sq > 0 && l2sq > times*times*float64(bound.L2sq) {
						t.Fatalf("%s %q, %d patients: moved by %v in L1, %v in L2², the bound is %+v",
							task.Plan().Kind, task.Plan().Where, n, l1, l2sq, bound)
					}
				}
				for i := range a {
					for j := range b {
						apart(a[i], b[j], steps)
						apart(a[i], q[j], 2*steps)
						moves = moves || !slices.Equal(a[i], b[j])
					}
				}
				if n == 6 && !moves {
					t.Errorf("%s: nothing moves the vector", task.Plan().Kind)
				}
			}
		}
	}
}

// TestOneOfEachPatient: a study at unit patient gets one record of each patient, by key the same in
// files of any order, and none without a number; a study at unit record gets all records.
func TestOneOfEachPatient(t *testing.T) {
	lines := []string{"30,f,no,p,2024-03-01", "31,m,yes,p,2021-12-24", "60,m,no,q,", "77,f,yes,r,",
		"12,f,yes,,", "13,m,no,,2020-01-01", "32,m,no,p,", "60,m,no,q,2024-01-01"}
	var got []string
	for range 4 {
		w := newWard(t)
		w.say(func(s *Source) { s.Expected = all })
		if err := os.WriteFile(w.ByName["ward"].Schema, []byte(patientSchema), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("age,sex,ill,nr,day\n" + strings.Join(lines, "\n") + "\n")
		d := w.declared()
		if d.Records != 8 || d.Patients != 3 {
			t.Fatalf("%d records of %d patients are declared", d.Records, d.Patients)
		}
		notes := fmt.Sprint(w.Check(t.Context(), "ward").Remarks)
		if !strings.Contains(notes, "2 patients of 3 have several records, up to 3") ||
			!strings.Contains(notes, "2 records without a patient number") {
			t.Errorf("the report says %s", notes)
		}
		p := study.Plan{Kind: "describe", Unit: privacy.Patient, SourceName: "ward",
			Schema: d.Schema}
		ages := func(by study.Choice) string {
			p.Choose = by
			r, err := w.AllRecords(p)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for i := range r.Len() {
				all = append(all, fmt.Sprint(r.X.At(i, 0)))
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		got = append(got, ages(study.ByKey))
		if n := len(strings.Fields(got[0])); n != 3 {
			t.Fatalf("%d records of 3 patients", n)
		}
		if first, last := ages(study.First), ages(study.Last); first != "0.31 0.6 0.77" ||
			last != "0.3 0.6 0.77" {
			t.Errorf("first records: ages %s; last: %s", first, last)
		}
		p.Unit = privacy.Record
		if r, err := w.AllRecords(p); err != nil || r.Len() != 8 {
			t.Errorf("at unit record: %d records, %v", r.Len(), err)
		}
		for k, want := range map[int64]int{1: 3, 2: 5, 3: 6} { // none without a number
			p.PerPatient = k
			if r, err := w.AllRecords(p); err != nil || r.Len() != want {
				t.Errorf("%d records a patient: %d records, %v", k, r.Len(), err)
			}
		}
		slices.Reverse(lines)
		lines[1], lines[4] = lines[4], lines[1]
	}
	if got := slices.Compact(got); len(got) != 1 {
		t.Errorf("files of other orders give other records: %q", got)
	}
}

// TestPatientsAlone: what a study at unit patient reads has as many bytes for a patient of one
// record as for one of a hundred, so that no time tells them apart. A file that is read again for
// each study has not, and is refused.
func TestPatientsAlone(t *testing.T) {
	read := map[int64]int{}
	for _, visits := range []int{1, 100} {
		w := newWard(t)
		w.say(func(s *Source) { s.Expected = all })
		if err := os.WriteFile(w.ByName["ward"].Schema, []byte(patientSchema), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("age,sex,ill,nr,day\n60,m,no,q,\n77,f,yes,r,\n" + strings.Repeat("30,f,no,p,\n", visits))
		d := w.declared()
		info, err := os.Stat(w.patientsFile(d, study.First))
		if err != nil {
			t.Fatal(err)
		}
		read[info.Size()]++
		p := study.Plan{Kind: "describe", Unit: privacy.Patient, SourceName: "ward",
			Schema: d.Schema}
		if err := os.Rename(w.importFile(d), w.importFile(d)+".away"); err != nil {
			t.Fatal(err)
		}
		h, err := w.Open(d, p)
		if err != nil {
			t.Fatalf("without the table of all records: %v", err)
		}
		if r, err := h.All(); err != nil || r.Len() != 3 {
			t.Errorf("%v records, %v", r, err)
		}
		w.say(func(s *Source) { s.Redeclare = RedeclareDaily })
		if err := w.declared().Refuses(p); err == nil || !strings.Contains(err.Error(), "an import") {
			t.Errorf("a file that is read again: %v", err)
		}
	}
	if len(read) != 1 {
		t.Errorf("the sizes of what is read: %v", read)
	}
}

// TestNoPatientNumber: a source without a patient number takes part in a study at unit patient only
// if its mapping says that no person has two records. That a person vouches for columns says
// nothing about persons.
func TestNoPatientNumber(t *testing.T) {
	for _, c := range []struct {
		word, redeclare, want string
		patients              int
	}{
		{mapping.NoPatient, "", "patient: none", 0},
		{mapping.OneRecord, "", "", 60},
		{mapping.NoPatient, RedeclareDaily, "leave redeclare out", 0},
		{mapping.OneRecord, RedeclareDaily, "leave redeclare out", 0},
	} {
		w := newWard(t)
		w.say(func(s *Source) {
			s.Expected, s.Redeclare = all, c.redeclare
			s.Mapping.Inline = mapping.Mapping{Patient: c.word}
		})
		if err := os.WriteFile(w.ByName["ward"].Schema,
			[]byte(wardSchema+"patient: nr\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("age,sex,ill\n" + strings.Join(visits(60, 1), "\n") + "\n")
		if _, err := w.Declare(t.Context(), "ward", DeclareOptions{Vouch: true},
			func(d *Declaration) error { d.By = "tester"; return nil }); err != nil {
			t.Fatal(err)
		}
		d, err := w.declaration("ward")
		if err != nil || d.Patients != c.patients {
			t.Errorf("%s %s: %d patients, %v", c.word, c.redeclare, d.Patients, err)
		}
		if said := strings.Contains(d.ClaimText(), "no person has two records"); said !=
			(c.word == mapping.OneRecord) {
			t.Errorf("%s: the declaring person states %q", c.word, d.ClaimText())
		}
		p := study.Plan{Kind: "describe", Unit: privacy.Patient, SourceName: "ward", Schema: d.Schema,
			Records: 50}
		r, err := w.AllRecords(p)
		for _, err := range []error{d.Refuses(p), err} {
			if (err == nil) != (c.want == "") ||
				err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s: %v", c.word, c.redeclare, err)
			}
		}
		if c.want == "" && r.Len() != 60 {
			t.Errorf("%d records of 60 persons", r.Len())
		}
		p.Unit, p.PerPatient = privacy.Record, 2
		if err := d.Refuses(p); (err == nil) != (c.want == "") {
			t.Errorf("%s %s, two records a patient: %v", c.word, c.redeclare, err)
		}
		if r, err := w.AllRecords(p); c.want == "" && (err != nil || r.Len() != 60) {
			t.Errorf("two records a patient: %d records of 60 persons, %v", r.Len(), err)
		}
	}
}

// marked lists records, one of nine or more of whose patient numbers are marks.
const marked = "20,f,no,?\n21,f,no,?\n22,f,no,?\n23,m,no,\n30,f,yes,q\n40,m,yes,r\n"

// TestMissingPatientNumber: a text that the schema calls missing is no patient's number, and a
// number with very many records is told to the site.
func TestMissingPatientNumber(t *testing.T) {
	for _, c := range []struct {
		rows, want string
		patients   int
	}{
		{marked, "4 records without a patient number", 2},
		{strings.Repeat("20,f,no,?\n", 7), "7 records without a patient number", 0},
		{marked + strings.Repeat("50,f,no,unknown\n", 40),
			"one patient number has 40 of 46 records", 3},
	} {
		w := newWard(t)
		w.say(func(s *Source) { s.Expected = all })
		if err := os.WriteFile(w.ByName["ward"].Schema,
			[]byte(patientSchema+"missing: \"?\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("age,sex,ill,nr,day\n" + strings.ReplaceAll(c.rows, "\n", ",1\n"))
		r, err := declare(w.Sources, DeclareOptions{})
		if err != nil || r.Declared.Patients != c.patients ||
			!strings.Contains(strings.Join(r.Remarks, "\n"), c.want) {
			t.Errorf("%+v, %v, want %d patients and %q", r.Declared, err, c.patients, c.want)
			t.Log(r.Remarks)
		}
		p := study.Plan{Kind: "describe", Unit: privacy.Patient, SourceName: "ward",
			Schema: r.Declared.Schema}
		if _, err := w.AllRecords(p); (err == nil) != (c.patients > 0) ||
			err != nil && !strings.Contains(err.Error(), "when the file has them") {
			t.Errorf("%d patients: %v", c.patients, err)
		}
	}
}

// TestDamagedPatients: a check reads each table of patients too, and a declaration without one of
// them is not in force.
func TestDamagedPatients(t *testing.T) {
	w := newWard(t)
	w.say(func(s *Source) { s.Expected = all })
	if err := os.WriteFile(w.ByName["ward"].Schema, []byte(patientSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	w.put("age,sex,ill,nr,day\n" + strings.ReplaceAll(marked, "\n", ",1\n"))
	d := w.declared()
	if r := w.Check(t.Context(), "ward"); r.Problem != "" {
		t.Fatalf("as imported: %s", r.Problem)
	}
	for _, by := range study.Choices() {
		name := w.patientsFile(d, by)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, damaged := range [][]byte{append(slices.Clone(b[:len(b)-1]), ^b[len(b)-1]), nil, b} {
			err := os.WriteFile(name, damaged, 0o600)
			if damaged == nil {
				err = os.Remove(name)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := w.Check(t.Context(), "ward")
			if fine := r.Problem+r.WaitReason == ""; fine != slices.Equal(damaged, b) {
				t.Errorf("by %q, %d of %d bytes: check says %q, %q", by, len(damaged), len(b),
					r.Problem, r.WaitReason)
			}
		}
	}
}
