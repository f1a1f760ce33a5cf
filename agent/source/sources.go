package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"caucus/dataset"
	"caucus/dataset/database"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Find finds a plan's source. A plan that names none uses the only source.
func (s Sources) Find(name string) (string, error) {
	all := slices.Sorted(maps.Keys(s.ByName))
	if name == "" && len(all) == 1 {
		return all[0], nil
	}
	if _, ok := s.ByName[name]; ok && name != "" {
		return name, nil
	}
	if name == "" {
		return "", fmt.Errorf("the plan names no data source and this site has not exactly one (it has %s)", textpage.List(all))
	}
	return "", fmt.Errorf("there is no data source %q; this site has %s: add it under data: if it is meant to take part", name, textpage.List(all))
}

// Of returns the declaration of a plan's source. Its error wraps ErrUndeclared and says what to do.
func (s Sources) Of(p study.Plan) (Declaration, error) {
	name, err := s.Find(p.SourceName)
	if err != nil {
		return Declaration{}, fmt.Errorf("%w: %w", ErrUndeclared, err)
	}
	return s.declaration(name)
}

// declaration reads a configured source's declaration. If the configuration has changed since, a
// person must declare the source again.
func (s Sources) declaration(name string) (d Declaration, err error) {
	again := "caucus agent source declare " + name
	fail := func(format string, args ...any) (Declaration, error) {
		return Declaration{}, fmt.Errorf("%w: source %s: %s: %s", ErrUndeclared, name,
			fmt.Sprintf(format, args...), again)
	}
	b, err := os.ReadFile(s.declarationFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fail("a person has to declare it first")
	}
	if err != nil || json.Unmarshal(b, &d) != nil || d.Source != name {
		return fail("%s cannot be read", s.declarationFile(name))
	}
	source := s.ByName[name]
	own, err := ReadSchema(source.Schema)
	m, errMapping := source.Mapping.read()
	asked, errQuery := "", error(nil)
	if d.Query != nil {
		asked, errQuery = source.Query.Digest()
	}
	switch {
	case err != nil:
		return fail("%v", err)
	case errMapping != nil:
		return fail("%v", errMapping)
	case d.ImportDigest == "" && d.Redeclare == "":
		return fail("it was declared under an earlier version, which read the file anew for each study")
	case d.File != source.File || (d.Query == nil) == source.queries():
		return fail("the configuration names %s, and %s was declared on %s: if the folder was "+
			"moved or renamed, the "+
			"records are to be declared "+
			"again", cmp.Or(source.File, "a query"), cmp.Or(d.File, "a query"),
			d.At.Format(time.DateOnly))
	case errQuery != nil:
		return fail("%v", errQuery)
	case d.Query != nil && (asked != d.Digest || source.Query.DSNFile != d.Query.DSNFile):
		return fail("the configuration has another query than was declared on %s", d.At.Format(time.DateOnly))
	case d.ImportDigest != "" && (!exists(s.importFile(d)) ||
		slices.ContainsFunc(d.choices(), func(by study.Choice) bool {
			return !exists(s.patientsFile(d, by))
		})):
		return fail("its import is gone, as after a restored backup")
	case len(own.Differences(d.Schema)) > 0 || len(d.Schema.Differences(own)) > 0 ||
		!reflect.DeepEqual(own.Format(), d.Schema.Format()):
		return fail("its schema is not what was declared on %s", d.At.Format(time.DateOnly))
	case source.Redeclare != d.Redeclare:
		return fail("redeclare is not what was declared on %s", d.At.Format(time.DateOnly))
	case !m.Equivalent(d.Mapping):
		return fail("its mapping is not what was declared on %s", d.At.Format(time.DateOnly))
	}
	return d, nil
}

// Reports reports on all sources, without opening their files.
func (s Sources) Reports() []Report {
	var out []Report
	for _, name := range slices.Sorted(maps.Keys(s.ByName)) {
		out = append(out, s.Report(name))
	}
	return out
}

// Report reports on one source, without opening its file.
func (s Sources) Report(name string) Report {
	r := Report{Source: name, File: s.ByName[name].File}
	if q := s.ByName[name].Query; r.File == "" {
		r.File = "a query of " + q.Driver
	}
	if d, err := s.declaration(name); err != nil {
		r.WaitReason = err.Error()
	} else {
		r.Declared = &d
		r.LatestSnapshot = s.taken(d)
	}
	return r
}

// Check reads a source's file as a study would, or runs a query that is not declared yet. It
// changes nothing. A person calls it, because only a person may run queries.
func (s Sources) Check(ctx context.Context, name string) Report {
	r := s.Report(name)
	d := r.Declared
	if d == nil {
		if _, err := s.survey(ctx, name, &r, discard, nil); err != nil {
			r.Problem = err.Error()
		}
		return r
	}
	digest := d.Digest // studies of an import need neither the file nor the database
	h, err := s.Open(*d, study.Plan{Schema: d.Schema})
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	h.Close()
	for _, by := range d.choices() {
		one, err := s.Open(*d, study.Plan{Schema: d.Schema, Unit: privacy.Patient, Choose: by})
		if err != nil {
			r.Problem = err.Error()
			return r
		}
		one.Close()
	}
	r.Problem = strings.Join(s.Problems(*d, h.SourceReading), "; ")
	if d.Redeclare == RedeclareDaily {
		digest = h.digest
	} else if now, err := open(d.File, func(*hashed, int64) error { return nil }); err == nil {
		digest = now
	}
	r.Read, r.Form, r.Found, r.Columns, r.Remarks = true, d.form(), h.SourceReading.Records,
		d.Columns,
		h.Remarks()
	if q := d.Query; q != nil && q.Zone == "" && q.Driver != database.SQLite {
		r.Remarks = append(r.Remarks, "imported when sessions were in UTC: if a date hangs on "+
			"the time zone, declare the source again")
	}
	r.FileChanged = digest != d.Digest
	return r
}

func discard([]byte) error { return nil }

// survey reads a source for a declaration, passes its encoded records to keep, and completes the
// report.
func (s Sources) survey(ctx context.Context, name string, r *Report, keep func([]byte) error,
	progress Progress) (Declaration, error) {
	source := s.ByName[name]
	own, err := ReadSchema(source.Schema)
	if err != nil {
		return Declaration{}, err
	}
	m, err := source.Mapping.read()
	if err != nil {
		return Declaration{}, err
	}
	patients := newChoices(own, s.Key)
	read, err := source.survey(ctx, own, m, s.Key, func(record []byte) error {
		patients.add(record)
		return keep(record)
	}, progress)
	if err != nil {
		return Declaration{}, err
	}
	if n := read.Records; n > 0 && read.Malformed == n {
		return Declaration{}, fmt.Errorf("%s: none of its %d lines is a row of %d cells: check delimiter and quotes", source.File, n, len(read.columns))
	}
	if own.Patient != "" && !m.LacksPatientNumbers() {
		read.Notes = append(read.Notes, patients.notes()...)
	}
	r.Read, r.Found, r.Columns, r.Remarks, r.seen = true, read.Records, read.columns,
		read.Remarks(), read.SourceReading
	r.patients = patients
	d := Declaration{
		VouchedColumns: read.bound.Derived, Redeclare: source.Redeclare,
		Source: name, File: source.File, Digest: read.digest, Form: read.form,
		Schema: own, Mapping: m, Columns: read.columns, RecordsRead: read.Records, Records: RoundDown(read.Records, importDigits), Patients: RoundDown(len(patients.of), importDigits),
	}
	if m.Patient == mapping.OneRecord {
		d.Patients = d.Records
	}
	if source.queries() {
		q := source.Query
		d.Query, d.VouchedColumns = &QueryOrigin{q.Driver, q.DSNFile, read.derives,
			read.zone}, own.AllColumns()
	}
	r.Form = d.form()
	if err := objection(s.Problems(d, read.SourceReading)); err != nil {
		return Declaration{}, fmt.Errorf("%s: %w", r.File, err)
	}
	if source.Redeclare == RedeclareDaily {
		d.Patients, d.Records = 0, RoundDown(read.Records, dailyDigits)
		if read.form.IsContainer() {
			return Declaration{}, fmt.Errorf("%s: redeclare: daily is for text: of %s one row could damage all others, so that it is read only when a person imports it; have it written as CSV", source.File, read.form)
		}
	}
	return d, nil
}

// Declare reads a source once and stores a declaration: format, meaning, columns, number of
// records, and the records themselves. Studies get these records from then on; for a source that is
// written again regularly they get the file's later content. The report lists what was unexpected,
// also with an error.
//
// A file is not declared if it cannot be read, lacks a column of the schema, or has no line with
// its columns. Then, and if ctx ends, the earlier declaration stays.
//
// If the mapping says that columns were computed from other records (mapping.Mapping.Derived), the
// declaration is refused unless the person vouches for them. Proofs about a record do not hold for
// such columns, because one record may change them in other records.
//
// The declaration is stored after the person agreed (How.Ask), and after sign wrote who declared it
// and when.
func (s Sources) Declare(ctx context.Context, name string, how DeclareOptions,
	sign func(*Declaration) error) (Report, error) {
	fail := func(r Report, err error) (Report, error) {
		return r, fmt.Errorf("declare source %s: %w", name, err)
	}
	if _, err := s.Find(name); err != nil {
		return fail(Report{}, err)
	}
	r := s.Report(name)
	if err := s.ByName[name].vouchedFor(how.Vouch); err != nil {
		return fail(r, err)
	}
	into, err := s.newImport(name)
	if err != nil {
		return fail(r, err)
	}
	defer into.remove()
	keep := discard
	if s.ByName[name].Redeclare == "" {
		keep = into.add
	}
	d, err := s.survey(ctx, name, &r, keep, how.Progress)
	if err != nil {
		return fail(r, err)
	}
	if len(d.VouchedColumns) > 0 && !how.Vouch {
		return fail(r, fmt.Errorf("%s: computed from other records, as the mapping says (derived): what is proven for a record does not cover that; leave them out of the schema, or answer for them with --vouch", strings.Join(d.VouchedColumns, ", ")))
	}
	if d.Redeclare == "" {
		if d.ImportDigest, err = into.write(r.seen, r.patients); err != nil {
			return fail(r, err)
		}
	}
	shown := r
	shown.Declared, shown.WaitReason = &d, ""
	if how.Ask != nil {
		if err := how.Ask(shown); err != nil {
			return fail(Report{}, err)
		}
	}
	if err := context.Cause(ctx); err != nil { // the person may have taken long to answer
		return fail(Report{}, err)
	}
	if err := sign(&d); err != nil {
		return fail(Report{}, err)
	}
	if err := s.keep(d, into); err != nil {
		return fail(Report{}, err)
	}
	return shown, nil
}

// keep writes a declaration. It moves the import into place first, and removes other imports last.
func (s Sources) keep(d Declaration, into *newImport) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err == nil && d.ImportDigest != "" {
		err = into.place(d)
	}
	if err == nil {
		err = protocol.WriteSecret(s.declarationFile(d.Source), append(text, '\n'))
	}
	if err != nil {
		var old Declaration
		b, _ := os.ReadFile(s.declarationFile(d.Source))
		_ = json.Unmarshal(b, &old)
		_ = s.forgetImports(d.Source, old.ImportDigest) // restore the state before the call
		return err
	}
	// a table that an agent still reads is removed by the next import
	_ = s.forgetImports(d.Source, d.ImportDigest)
	return nil
}

// Problems lists what is unexpected in a source. It depends on the records, so it is for the site
// only.
func (s Sources) Problems(d Declaration, seen SourceReading) []string {
	return s.ByName[d.Source].problems(seen, d.Schema)
}

// noteDay stores the first Taken of a day, for a source that is written again regularly.
func (s Sources) noteDay(d Declaration, t DailySnapshot) error {
	t.Day = s.Now().UTC().Format(time.DateOnly)
	if last := s.taken(d); d.Redeclare != RedeclareDaily || last != nil && last.Day == t.Day {
		return nil
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return protocol.WriteSecret(s.takenFile(d.Source), append(text, '\n'))
}

func (s Sources) taken(d Declaration) *DailySnapshot {
	var t DailySnapshot
	b, err := os.ReadFile(s.takenFile(d.Source))
	if d.Redeclare != RedeclareDaily || err != nil || json.Unmarshal(b, &t) != nil {
		return nil
	}
	return &t
}

// takenFile is the path of a source's Taken. Its suffix differs from a declaration's, so that no
// two files collide.
func (s Sources) takenFile(name string) string {
	return filepath.Join(s.Dir, url.PathEscape(name)+".taken")
}

// Records returns this site's records for a study: exactly n, the number declared when the study
// was charged. Call it after the charge. It never fails. If the records cannot be read as declared
// (a damaged import, an incomplete daily file, a daily file with other columns), it returns n empty
// records, and unread says why. odd lists what is unexpected in the file. Both are for the site
// only. The records come in blocks if the study reads blocks (study.Blockwise).
//
// Proof note: what may depend on the content of a file that is written again regularly? Whether
// more than some number of its cells can be read may depend on a single record. A study that got
// its records if they can be read, and constants otherwise, would reveal that record without any
// noise. So:
//   - n, the schema, the mapping and the site's participation are as declared. None of them is read
//     from the file again.
//   - No bound of Expected is a condition here. A record whose cells mean nothing to the schema is
//     an empty record by itself: numbers in the middle of their range, levels other, no label. So a
//     file that became garbage gives a constant, record by record, and a file with garbage from
//     some line on gives the records before that line. Each record is a function of one line
//     (dataset.NewLines, mapping), so neighbours remain neighbours, and the study's bound covers
//     the contribution.
//   - Notes about the file (noteDay) lie in the state folder, where commands such as "caucus agent
//     preview" read them. No log line mentions them, because logs may leave the machine. The notes
//     are written in the window, in which the agent is silent (window has the proof).
//
// An import changes only by a person's declaration. The time to read it follows from its number of
// records and its schema (dataset.RecordCoding).
//
// TestTurnedToGarbage would catch a violation.
func (s Sources) Records(p study.Plan, n int, blocks bool) (in study.Inputs, odd []string,
	unread error) {
	in, d, h, err := s.DeclaredRecords(p, n, blocks)
	if errors.Is(err, fs.ErrNotExist) { // a person has just imported the source again
		in, d, h, err = s.DeclaredRecords(p, n, blocks)
	}
	if err != nil {
		return Empty(p, n, s.Key, blocks), nil, err
	}
	if d.Redeclare == RedeclareDaily {
		odd = s.Problems(d, h.SourceReading)
		// a failed write is not reported
		_ = s.noteDay(d, DailySnapshot{Digest: h.digest, Records: h.SourceReading.Records,
			Problems: odd})
	}
	return in, odd, nil
}

// DeclaredRecords returns exactly the n records that a study gets, with their declaration and what
// was noticed when they were read. All are for the site only. It stores no notes.
func (s Sources) DeclaredRecords(p study.Plan, n int, blocks bool) (in study.Inputs, d Declaration,
	h *StudyRecords,
	err error) {
	in = study.NewInputs(nil, s.Key)
	d, err = s.Of(p)
	if err == nil { // the declaration is the same as when the study was decided
		err = d.Refuses(p)
	}
	if err == nil {
		h, err = s.Open(d, p)
	}
	switch {
	case err != nil:
	case blocks && d.Redeclare != RedeclareDaily:
		in.Blocks = h.Blocks(n)
	default:
		if in.Records, err = h.All(); err == nil {
			in.Records = ordered(p, in.Records, n, s.Key)
		}
	}
	return in, d, h, err
}

// AllRecords returns all records of a plan's source in the encoding of the plan's schema. They are
// for the site only. A plan's least number of records does not apply.
func (s Sources) AllRecords(p study.Plan) (*dataset.Records, error) {
	d, err := s.Of(p)
	if err == nil {
		err = objection(d.lacks(p))
	}
	var h *StudyRecords
	if err == nil {
		h, err = s.Open(d, p)
	}
	if err != nil {
		return nil, err
	}
	return h.All()
}

// CheckMapping checks that a mapping makes all columns of its schema from a report's columns. says
// tells a person the result.
func (s Sources) CheckMapping(r Report) (says string, err error) {
	own, err := ReadSchema(s.ByName[r.Source].Schema)
	if err != nil {
		return "", err
	}
	m, err := s.ByName[r.Source].Mapping.read()
	if err != nil {
		return "", err
	}
	columns := r.Columns
	if columns == nil && r.Declared != nil {
		columns = r.Declared.Columns
	}
	if columns == nil {
		return "its text can be read; whether it fits is known when the source is read", nil
	}
	bound, err := m.Bind(columns, own)
	switch {
	case err != nil:
		return "", err
	case len(bound.Missing) > 0:
		return "", fmt.Errorf("nothing in the file is mapped to %s: caucus agent map drafts a mapping", strings.Join(bound.Missing, ", "))
	}
	return fmt.Sprintf("all %d columns of the schema come from the file's %d", len(own.AllColumns()), len(columns)), nil
}
