package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"caucus/dataset/files"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// ErrUndeclared is wrapped where a person has to declare a source before a
// study can take place here. Nothing is sent until then.
var ErrUndeclared = errors.New("no declared source")

// Declaration is what a person said of a source: how its file is written, what
// its columns mean and how many records it has. Whether this site takes part in
// a study, and everything public about what it sends, hangs on declarations,
// policy and ledger, never on what the file holds at the time. A declaration
// changes by another one and by nothing else.
//
// What it tells: that the source is declared (until then a study waits, as
// the coordinator is told unless the site is quiet), what its schema means (a plan that means something else is
// declined) and Records. A plan's columns are held against the schema, which
// the site has published or agreed on, never against the file: otherwise a
// coordinator could ask for column after column and learn from the answers
// which ones the file has, or, where a header is missing, what the first record
// is. So a source has a schema.
type Declaration struct {
	Source string `json:"source"`
	File   string `json:"file"`
	// Digest is the SHA-256 of the file's bytes on that day, for the site's eyes.
	Digest string `json:"sha256"`
	// Form is what kind of file it was found to be: it is read as that and as
	// nothing else.
	Form   files.Format   `json:"form"`
	Schema dataset.Schema `json:"schema"`
	// Mapping says how the file is written and what of it the schema's columns
	// are.
	Mapping mapping.Mapping `json:"mapping,omitzero"`
	// Redeclare is the source's, as it was then.
	Redeclare string `json:"redeclare,omitempty"`
	// Vouched are the schema's columns that were computed from other records, for
	// which a person answered: what is proven for a record does not cover them.
	Vouched []string `json:"vouched,omitempty"`
	// Columns are the file's, in its order.
	Columns []string `json:"columns"`
	// Records is how many records every study gets: those of the file rounded
	// down to two digits. What the file has beyond is left out by keyed order,
	// what it lacks are empty records.
	Records int       `json:"records"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Account string    `json:"account"` // the operating system's user
}

// Shown is the digest of what a person is shown of a source, and says yes to: the
// file's digest, its form, schema and mapping, the columns, the number of
// records, and that somebody declared just that just then.
//
// Proof note: an approval that hangs on it must tell nothing of the records. The
// moment of the declaration is in it, so that every other declaration has another
// digest, of the same file too: whether a study takes part then hangs on what
// persons did, and not on whether the file had changed between two declarations.
// What the file comes to hold without a declaration is not in it.
func (d Declaration) Shown() string {
	b, err := json.Marshal(d)
	if err != nil { // it was written as JSON
		panic(err)
	}
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

// Objections says where a plan asks for what a declared source does not have,
// one reason a line. They depend on the plan and the declaration alone.
func (d Declaration) Objections(p study.Plan) []string {
	out := d.lacks(p)
	if p.Records > d.Records {
		out = append(out, fmt.Sprintf("source %s: the study says that each party has at least %s, it was declared with %d", d.Source, textpage.Count(p.Records, "record"), d.Records))
	}
	// At unit party δ was held against the minimum that the policy allows.
	if err := p.CheckDelta(d.uses(p), "of source "+d.Source+" that the study uses"); err != nil && p.Unit != privacy.Party {
		out = append(out, err.Error())
	}
	return out
}

// uses is how many of the declared records a plan takes at most.
func (d Declaration) uses(p study.Plan) int {
	if most := kinds.WordsOf(p).PerParty; most > 0 {
		return int(min(most, int64(d.Records)))
	}
	return d.Records
}

// lacks says what a plan asks of each record that a declared source does not have.
func (d Declaration) lacks(p study.Plan) []string {
	out := p.Schema.Within(d.Schema)
	if asksSets(p) && !d.has(p.Schema.Party) {
		out = append(out, fmt.Sprintf("no column %q, which names the set of each record", p.Schema.Party))
	}
	for i := range out {
		out[i] = fmt.Sprintf("source %s: %s", d.Source, out[i])
	}
	return out
}

// has says whether a column of the schema is made of something that the
// declared file has.
func (d Declaration) has(column string) bool {
	b, err := d.Mapping.Bind(d.Columns, d.Schema)
	return err == nil && b.Has(column)
}

// cells is how many cells of plain text a record of the file takes the time of,
// whatever the study asks for: all that the file has are read, and the schema's
// are made of them.
func (d Declaration) cells() float64 {
	cells := d.Form.Cells() * float64(len(d.Columns))
	if b, err := d.Mapping.Bind(d.Columns, d.Schema); err == nil {
		cells += b.Cells()
	}
	return cells
}

// objection is the first of some, nil where there are none.
func objection(all []string) error {
	if len(all) == 0 {
		return nil
	}
	return errors.New(all[0])
}

// declarationFile is where a source's declaration lies.
func (s *state) declarationFile(name string) string {
	return filepath.Join(s.sources, url.PathEscape(name)+".json")
}

// declared is the declaration of the source that a plan names; an error wraps
// ErrUndeclared and says what a person has to do.
func (s *state) declared(p study.Plan) (Declaration, error) {
	name, err := s.config.source(p.Data)
	if err != nil {
		return Declaration{}, fmt.Errorf("%w: %w", ErrUndeclared, err)
	}
	return s.declaration(name)
}

// declaration is that of a configured source. Where the configuration has come
// to name another file or schema, the source waits for a person again.
func (s *state) declaration(name string) (d Declaration, err error) {
	again := "caucus agent source declare " + name
	fail := func(format string, args ...any) (Declaration, error) {
		return Declaration{}, fmt.Errorf("%w: source %s: %s: %s", ErrUndeclared, name, fmt.Sprintf(format, args...), again)
	}
	b, err := os.ReadFile(s.declarationFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fail("a person has to declare it first")
	}
	if err != nil || json.Unmarshal(b, &d) != nil || d.Source != name {
		return fail("%s cannot be read", s.declarationFile(name))
	}
	source := s.config.Data[name]
	own, err := readSchema(source.Schema)
	m, errMapping := source.Mapping.read()
	switch {
	case err != nil:
		return fail("%v", err)
	case errMapping != nil:
		return fail("%v", errMapping)
	case d.Form.Kind == "":
		return fail("it was declared under an earlier version, which knew text alone")
	case d.File != source.File:
		return fail("the configuration names another file than was declared on %s", d.At.Format(time.DateOnly))
	case !sameSchema(own, d.Schema):
		return fail("its schema is not what was declared on %s", d.At.Format(time.DateOnly))
	case source.Redeclare != d.Redeclare:
		return fail("redeclare is not what was declared on %s", d.At.Format(time.DateOnly))
	case !m.Same(d.Mapping):
		return fail("its mapping is not what was declared on %s", d.At.Format(time.DateOnly))
	}
	return d, nil
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

// sameSchema says whether two schemas read and mean the same.
func sameSchema(a, b dataset.Schema) bool {
	return len(a.Within(b)) == 0 && len(b.Within(a)) == 0 && reflect.DeepEqual(a.Format(), b.Format())
}

// SourceReport is what a person is shown of a source. Found and what follows it
// are computed from the records: they are for the eyes of the site.
type SourceReport struct {
	Source string `json:"source"`
	File   string `json:"file"`
	// Declared is the declaration in force, nil where there is none; Waits says
	// why.
	Declared *Declaration `json:"declared"`
	Waits    string       `json:"waits,omitempty"`
	// Read: the file was read now.
	Read    bool     `json:"read"`
	Form    string   `json:"form,omitempty"`  // what kind of file it is
	Found   int      `json:"found,omitempty"` // records
	Columns []string `json:"columns,omitempty"`
	Remarks []string `json:"remarks,omitempty"`
	// Changed: the file is not what it was when it was declared. That alone is
	// no problem: studies get its records as they are then.
	Changed bool `json:"changed,omitempty"`
	// Taken is the file as the first study of the last day had it, of a source that
	// is declared to be written anew; nil where there was none.
	Taken *Taken `json:"taken,omitempty"`
	// Problem keeps the file from being read as declared, so that a study would
	// get empty records, or says that it is not as expected.
	Problem string `json:"problem,omitempty"`
}

// Sources reports on all sources, without opening their files.
func (a *Agent) Sources() []SourceReport {
	var out []SourceReport
	for _, name := range slices.Sorted(maps.Keys(a.state.config.Data)) {
		out = append(out, a.state.sourceReport(name))
	}
	return out
}

func (s *state) sourceReport(name string) SourceReport {
	r := SourceReport{Source: name, File: s.config.Data[name].File}
	if d, err := s.declaration(name); err != nil {
		r.Waits = err.Error()
	} else {
		r.Declared = &d
		r.Taken = s.taken(d)
	}
	return r
}

// CheckSource reads a source as a study would, and changes nothing.
func (a *Agent) CheckSource(name string) (SourceReport, error) {
	if _, err := a.state.config.source(name); err != nil {
		return SourceReport{}, err
	}
	return a.state.checkSource(name), nil
}

func (s *state) checkSource(name string) SourceReport {
	r := s.sourceReport(name)
	if r.Declared == nil {
		if _, err := s.survey(name, &r); err != nil {
			r.Problem = err.Error()
		}
		return r
	}
	records, read, err := r.Declared.encoded(study.Plan{Schema: r.Declared.Schema})
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	r.Read, r.Form, r.Found, r.Columns, r.Remarks = true, read.form.String(), records.Len(), read.lines.Columns, read.remarks()
	r.Changed = read.digest != r.Declared.Digest
	r.Problem = strings.Join(s.config.Data[name].problems(read), "; ")
	return r
}

// survey reads a source as a declaration of it would be, and completes the
// report.
func (s *state) survey(name string, r *SourceReport) (Declaration, error) {
	source := s.config.Data[name]
	own, err := readSchema(source.Schema)
	if err != nil {
		return Declaration{}, err
	}
	m, err := source.Mapping.read()
	if err != nil {
		return Declaration{}, err
	}
	read, err := source.survey(own, m)
	if err != nil {
		return Declaration{}, err
	}
	if rows := read.lines.Table.Rows(); rows > 0 && read.lines.Malformed == rows {
		return Declaration{}, fmt.Errorf("%s: none of its %d lines is a row of %d cells: check delimiter and quotes", source.File, rows, len(read.lines.Columns))
	}
	records, err := read.encode(study.Plan{}, own)
	if err != nil {
		return Declaration{}, fmt.Errorf("%s: %w", source.File, read.unlike())
	}
	r.Form = read.form.String()
	r.Read, r.Found, r.Columns, r.Remarks = true, records.Len(), read.lines.Columns, read.remarks()
	if err := objection(source.problems(read)); err != nil {
		return Declaration{}, fmt.Errorf("%s: %w", source.File, err)
	}
	if source.Redeclare == RedeclareDaily && read.form.Container() {
		return Declaration{}, fmt.Errorf("%s: redeclare: daily is for text: of %s one row could damage all others, so that it is read only as it was declared; have it written as CSV", source.File, read.form)
	}
	return Declaration{
		Vouched: read.bound.Derived, Redeclare: source.Redeclare,
		Source: name, File: source.File, Digest: read.digest, Form: read.form,
		Schema: own, Mapping: m, Columns: read.lines.Columns, Records: RoundDown(records.Len()),
	}, nil
}

// DeclareSource reads a source once, and keeps what a person declares by that:
// format, meaning, columns and number of records. It says what was odd. A file
// that cannot be read, lacks a column of the schema, or has no line that is a
// row of its columns, is not declared.
//
// With an error the report's remarks say what a person may look at.
//
// Where the mapping says that columns were computed from other records
// (mapping.Mapping.Derived), it is refused unless the person answers for them by
// VouchSource.
func (a *Agent) DeclareSource(name string, who Approver) (SourceReport, error) {
	return a.declareSource(name, who, false)
}

// VouchSource is DeclareSource by a person who answers for columns that were
// computed from other records, where what is proven for a record does not hold:
// a record may move them in other ones.
func (a *Agent) VouchSource(name string, who Approver) (SourceReport, error) {
	return a.declareSource(name, who, true)
}

func (a *Agent) declareSource(name string, who Approver, vouch bool) (SourceReport, error) {
	fail := func(err error) (SourceReport, error) {
		return SourceReport{}, fmt.Errorf("declare source %s: %w", name, err)
	}
	if _, err := a.state.config.source(name); err != nil {
		return fail(err)
	}
	r := a.state.sourceReport(name)
	d, err := a.state.survey(name, &r)
	if err != nil {
		_, err = fail(err)
		return r, err
	}
	if len(d.Vouched) > 0 && !vouch {
		return r, fmt.Errorf("declare source %s: %s: computed from other records, as the mapping says (derived): what is proven for a record does not cover that; leave them out of the schema, or answer for them with --vouch", name, strings.Join(d.Vouched, ", "))
	}
	if d.By, err = who.name(); err != nil {
		return fail(err)
	}
	d.Account, d.At = account(), a.now().UTC()
	if err := a.state.audit.recordSource(auditDeclared, name, "records", d.Records, "vouched", strings.Join(d.Vouched, " "), "by", d.By, "account", d.Account); err != nil {
		return fail(err)
	}
	if err := a.state.keepDeclaration(d); err != nil {
		return fail(err)
	}
	r.Declared, r.Waits = &d, ""
	return r, nil
}

func (s *state) keepDeclaration(d Declaration) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return protocol.WriteSecret(s.declarationFile(d.Source), append(text, '\n'))
}

// RoundDown keeps the first two digits of a count, so that what is declared does not hang
// on the last few records.
func RoundDown(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}

// WriteText writes a report for people.
func (r SourceReport) WriteText(w io.Writer) error {
	var t textpage.Page
	t.Add("source", "%s, %s", r.Source, r.File)
	switch {
	case r.Declared != nil:
		t.Add("declared", "%s for every study, by %s on %s", textpage.Count(r.Declared.Records, "record"), r.Declared.By, r.Declared.At.Format(time.DateOnly))
		claim := "every column of a record was computed from that record alone"
		if len(r.Declared.Vouched) > 0 {
			claim += ", but for " + strings.Join(r.Declared.Vouched, ", ")
		}
		t.Add("claims", "%s: no proof here can know that", claim)
	default:
		t.Add("waits", "%s", r.Waits)
	}
	if r.Read {
		t.Add("found", "%s: %s, %s", r.Form, textpage.Count(r.Found, "record"), textpage.Count(len(r.Columns), "column"))
		t.Add("columns", "%s", strings.Join(r.Columns, ", "))
	}
	for _, m := range r.Remarks {
		t.Add("", "%s", m)
	}
	if t0 := r.Taken; t0 != nil {
		t.Add("taken", "on %s: %s (file %s)", t0.Day, textpage.Count(t0.Records, "record"), t0.Digest[:min(16, len(t0.Digest))])
		for _, p := range t0.Problems {
			t.Add("", "%s", p)
		}
	}
	if r.Changed {
		t.Add("changed", "the file is not what it was on that day; studies get its records as they are")
	}
	if r.Problem != "" {
		t.Add("problem", "%s", r.Problem)
	}
	return t.WriteText(w)
}
