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
	"caucus/study/survival"
)

const patientSchema = wardSchema + "patient: nr\n"

var patientColumns = []string{"age", "sex", "ill", "nr"}

// patientStudies lists a study at unit patient for each kind that claims this unit, with and
// without a condition.
func patientStudies(t *testing.T, schema dataset.Schema) (all []study.Task) {
	t.Helper()
	pool, err := dataset.NewTable([]string{"age", "sex"}, [][]string{{"10", "f"}, {"50", "m"},
		{"70", "f"}, {"90", "d"}})
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
		} {
			of.Name, of.Data, of.Unit, of.Epsilon, of.Records = "s", "ward", privacy.Patient, 1, 3
			of.Roster, of.Minimum, of.Where = []study.PartyID{"a", "b"}, 2, where
			of.Deadline = time.Now().Add(time.Hour)
			made, err := planning.Propose(of, schema, pool)
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
	return all
}

// chosenOf makes the table of one record of each patient of a file's rows.
func chosenOf(t *testing.T, schema dataset.Schema, rows [][]string) table {
	t.Helper()
	coding := schema.Coding()
	coder, err := coding.Coder(patientColumns, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	dir, record := t.TempDir(), make([]byte, coding.Width())
	s, one := newSorter(coding, []byte("key"), dir), newChoices(coding, []byte("key"))
	for _, row := range rows {
		coder.Code(row, record)
		one.add(record)
		if err := s.add(record); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(dir, "patients"))
	if err == nil {
		_, err = s.write(file, len(one.of), one.take)
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
	return out
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

// vectorAt returns the private vector of a study at unit patient for a site's table, and its bound.
func vectorAt(t *testing.T, task study.Task, from table, n int, blocks bool) ([]int64,
	privacy.Bound) {
	t.Helper()
	from.close = func() error { return nil }
	h := &StudyRecords{plan: task.Plan(), table: from}
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
	r, err := privacy.Simulation(1).Release(context.Background(), a.Output, a.Sensitive,
		privacy.Unperturbed{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Values, a.Sensitive.Bound()
}

// TestPatientsAreNeighbours replaces one patient by another, for all pairs of patients with up to
// three records of odd values, in files of any order, under cuts and fills, for every kind that
// claims unit patient. A patient whose new number is known at the site moves twice as much at most.
func TestPatientsAreNeighbours(t *testing.T) {
	schema, err := dataset.ParseSchema(strings.NewReader(patientSchema))
	if err != nil {
		t.Fatal(err)
	}
	odd := [][]string{{"", "f", "yes"}, {"80", "m", "no"}, {"1e308", "d", "yes"},
		{"x", "", "?"}, {"3", "f", "no"}}
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
	others := [][]string{{"30", "f", "no", "p"}, {"31", "m", "yes", "p"}, {"60", "m", "no", "q"},
		{"77", "f", "yes", "r"}, {"12", "f", "yes", ""}, {"13", "m", "no", ""}}
	rng := rand.New(rand.NewPCG(4, 5))
	file := func(number string, records [][]string) [][]string {
		rows := slices.Clone(others)
		for _, r := range records {
			rows = append(rows, append(slices.Clone(r), number))
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		return rows
	}
	var first, second, known []table
	for _, p := range patients {
		first = append(first, chosenOf(t, schema, file("a", p)))
		second = append(second, chosenOf(t, schema, file("b", p)))
		known = append(known, chosenOf(t, schema, file("q", p)))
	}
	for _, task := range testlevel.Of(t, patientStudies(t, schema), 6) {
		for _, n := range []int{2, 4, 6} {
			for _, blocks := range []bool{true, false} {
				if blocks && !study.InBlocks(task, n) {
					continue
				}
				var bound privacy.Bound
				of := func(tables []table) (all [][]int64) {
					for _, from := range tables {
						v, b := vectorAt(t, task, from, n, blocks)
						bound, all = b, append(all, v)
					}
					return all
				}
				a, b, q := of(first), of(second), of(known)
				if bound.Unit != privacy.Patient {
					t.Fatalf("%s: the bound is for a %s", task.Plan().Kind, bound.Unit)
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
						apart(a[i], b[j], 1)
						apart(a[i], q[j], 2)
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

// TestOneOfEachPatient: a study at unit patient gets one record of each patient, the same in files
// of any order, and none without a number; a study at unit record gets all records.
func TestOneOfEachPatient(t *testing.T) {
	lines := []string{"30,f,no,p", "31,m,yes,p", "60,m,no,q", "77,f,yes,r", "12,f,yes,", "13,m,no,"}
	var got []string
	for range 4 {
		w := newWard(t)
		w.say(func(s *Source) { s.Expected = all })
		if err := os.WriteFile(w.Named["ward"].Schema, []byte(patientSchema), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("age,sex,ill,nr\n" + strings.Join(lines, "\n") + "\n")
		d := w.declared()
		if d.Records != 6 || d.Patients != 3 {
			t.Fatalf("%d records of %d patients are declared", d.Records, d.Patients)
		}
		notes := fmt.Sprint(w.Check(t.Context(), "ward").Remarks)
		if !strings.Contains(notes, "1 patient of 3 have several records, up to 2") ||
			!strings.Contains(notes, "2 records without a patient number") {
			t.Errorf("the report says %s", notes)
		}
		p := study.Plan{Kind: "describe", Unit: privacy.Patient, Data: "ward", Schema: d.Schema}
		r, err := w.AllRecords(p)
		if err != nil {
			t.Fatal(err)
		}
		if r.Len() != 3 {
			t.Fatalf("%d records of 3 patients", r.Len())
		}
		var ages []string
		for i := range r.Len() {
			ages = append(ages, fmt.Sprint(r.X.At(i, 0)))
		}
		slices.Sort(ages)
		got = append(got, strings.Join(ages, " "))
		p.Unit = privacy.Record
		if r, err := w.AllRecords(p); err != nil || r.Len() != 6 {
			t.Errorf("at unit record: %d records, %v", r.Len(), err)
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
		if err := os.WriteFile(w.Named["ward"].Schema, []byte(patientSchema), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("age,sex,ill,nr\n60,m,no,q\n77,f,yes,r\n" + strings.Repeat("30,f,no,p\n", visits))
		d := w.declared()
		info, err := os.Stat(w.patientsFile(d))
		if err != nil {
			t.Fatal(err)
		}
		read[info.Size()]++
		p := study.Plan{Kind: "describe", Unit: privacy.Patient, Data: "ward", Schema: d.Schema}
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

// TestNoPatientNumber: a source whose mapping says patient: none takes part in a study at unit
// patient only if a person vouched that no person has two records.
func TestNoPatientNumber(t *testing.T) {
	w := newWard(t)
	w.say(func(s *Source) {
		s.Expected, s.Mapping.Inline = all, mapping.Mapping{Patient: mapping.NoPatient}
	})
	if err := os.WriteFile(w.Named["ward"].Schema, []byte(patientSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	w.put("age,sex,ill\n" + strings.Join(visits(60, 1), "\n") + "\n")
	d := w.declared()
	p := study.Plan{Kind: "describe", Unit: privacy.Patient, Data: "ward", Schema: d.Schema,
		Records: 50}
	if err := d.Refuses(p); err == nil || !strings.Contains(err.Error(), "patient: none") {
		t.Errorf("without a person's word: %v", err)
	}
	if _, err := w.Declare(t.Context(), "ward", DeclareOptions{Vouch: true},
		func(d *Declaration) error { d.By = "tester"; return nil }); err != nil {
		t.Fatal(err)
	}
	d, err := w.declaration("ward")
	if err != nil || d.Patients != 60 || d.Refuses(p) != nil {
		t.Errorf("with a person's word: %d patients, %v, %v", d.Patients, err, d.Refuses(p))
	}
	if !strings.Contains(d.Claims(), "no person has two records") {
		t.Errorf("it claims %q", d.Claims())
	}
	r, err := w.AllRecords(p)
	if err != nil || r.Len() != 60 {
		t.Errorf("%d records of 60 persons, %v", r.Len(), err)
	}
	d.Patients, d.Mapping.Patient = 0, "" // as declared under an earlier version
	if err := d.Refuses(p); err == nil || !strings.Contains(err.Error(), "declare the source again") &&
		!strings.Contains(err.Error(), "declare it again") {
		t.Errorf("an earlier declaration: %v", err)
	}
}
