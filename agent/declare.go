package agent

import (
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
	"caucus/protocol"
	"caucus/study"
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
// What it tells: that the source is declared (until then a study waits, in
// silence), what its schema means (a plan that means something else is
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
	// Packed: the file is packed with gzip.
	Packed bool           `json:"gzip"`
	Schema dataset.Schema `json:"schema"`
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

// Objections says where a plan asks for what a declared source does not have,
// one reason a line. They depend on the plan and the declaration alone.
func (d Declaration) Objections(p study.Plan) []string {
	out := p.Schema.Within(d.Schema)
	if asksSets(p) && !slices.Contains(d.Columns, p.Schema.Party) {
		out = append(out, fmt.Sprintf("no column %q, which names the set of each record", p.Schema.Party))
	}
	if p.Records > d.Records {
		out = append(out, fmt.Sprintf("the study says that each site has at least %d records, it was declared with %d", p.Records, d.Records))
	}
	for i := range out {
		out[i] = fmt.Sprintf("source %s: %s", d.Source, out[i])
	}
	return out
}

// objection is the first of some, nil where there are none.
func objection(all []string) error {
	if len(all) == 0 {
		return nil
	}
	return errors.New(all[0])
}

// declarationFile is where a source's declaration lies.
func (s *site) declarationFile(name string) string {
	return filepath.Join(s.sources, url.PathEscape(name)+".json")
}

// declared is the declaration of the source that a plan names; an error wraps
// ErrUndeclared and says what a person has to do.
func (s *site) declared(p study.Plan) (Declaration, error) {
	name, err := s.config.source(p.Data)
	if err != nil {
		return Declaration{}, fmt.Errorf("%w: %w", ErrUndeclared, err)
	}
	return s.declaration(name)
}

// declaration is that of a configured source. Where the configuration has come
// to name another file or schema, the source waits for a person again.
func (s *site) declaration(name string) (d Declaration, err error) {
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
	switch {
	case err != nil:
		return fail("%v", err)
	case d.File != source.File:
		return fail("the configuration names another file than was declared on %s", d.At.Format(time.DateOnly))
	case !sameSchema(own, d.Schema):
		return fail("its schema is not what was declared on %s", d.At.Format(time.DateOnly))
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
	Found   int      `json:"found,omitempty"` // records
	Columns []string `json:"columns,omitempty"`
	Remarks []string `json:"remarks,omitempty"`
	// Changed: the file is not what it was when it was declared. That alone is
	// no problem: studies get its records as they are then.
	Changed bool `json:"changed,omitempty"`
	// Problem keeps the file from being read as declared: a study would get
	// empty records.
	Problem string `json:"problem,omitempty"`
}

// Sources reports on all sources, without opening their files.
func (a *Agent) Sources() []SourceReport {
	var out []SourceReport
	for _, name := range slices.Sorted(maps.Keys(a.site.config.Data)) {
		out = append(out, a.site.sourceReport(name))
	}
	return out
}

func (s *site) sourceReport(name string) SourceReport {
	r := SourceReport{Source: name, File: s.config.Data[name].File}
	if d, err := s.declaration(name); err != nil {
		r.Waits = err.Error()
	} else {
		r.Declared = &d
	}
	return r
}

// CheckSource reads a source as a study would, and changes nothing.
func (a *Agent) CheckSource(name string) (SourceReport, error) {
	if _, err := a.site.config.source(name); err != nil {
		return SourceReport{}, err
	}
	r := a.site.sourceReport(name)
	if r.Declared == nil {
		_, err := a.site.survey(name, &r)
		if err != nil {
			r.Problem = err.Error()
		}
		return r, nil
	}
	records, read, remarks, err := r.Declared.encoded(study.Plan{Schema: r.Declared.Schema})
	if err != nil {
		r.Problem = err.Error()
		return r, nil
	}
	r.Read, r.Found, r.Columns, r.Remarks = true, records.Len(), read.lines.Columns, remarks
	r.Changed = read.digest != r.Declared.Digest
	return r, nil
}

// survey reads a source as a declaration of it would be, and completes the
// report.
func (s *site) survey(name string, r *SourceReport) (Declaration, error) {
	source := s.config.Data[name]
	own, err := readSchema(source.Schema)
	if err != nil {
		return Declaration{}, err
	}
	read, err := source.read(own, nil)
	if err != nil {
		return Declaration{}, err
	}
	if rows := read.lines.Table.Rows(); rows > 0 && read.lines.Malformed == rows {
		return Declaration{}, fmt.Errorf("%s: none of its %d lines is a row of %d cells: check delimiter and quotes", source.File, rows, len(read.lines.Columns))
	}
	records, remarks, err := own.EncodeLabelled(read.lines.Table)
	if err != nil {
		return Declaration{}, fmt.Errorf("%s: %w", source.File, unlike(own, read.lines))
	}
	r.Read, r.Found, r.Columns, r.Remarks = true, records.Len(), read.lines.Columns, read.remarks(remarks...)
	return Declaration{
		Source: name, File: source.File, Digest: read.digest, Packed: read.packed,
		Schema: own, Columns: read.lines.Columns, Records: RoundDown(records.Len()),
	}, nil
}

// DeclareSource reads a source once, and keeps what a person declares by that:
// format, meaning, columns and number of records. It says what was odd. A file
// that cannot be read, lacks a column of the schema, or has no line that is a
// row of its columns, is not declared.
func (a *Agent) DeclareSource(name string, who Approver) (SourceReport, error) {
	fail := func(err error) (SourceReport, error) {
		return SourceReport{}, fmt.Errorf("declare source %s: %w", name, err)
	}
	if _, err := a.site.config.source(name); err != nil {
		return fail(err)
	}
	r := a.site.sourceReport(name)
	d, err := a.site.survey(name, &r)
	if err != nil {
		return fail(err)
	}
	if d.By, err = who.name(); err != nil {
		return fail(err)
	}
	d.Account, d.At = account(), a.now().UTC()
	if err := a.site.audit.recordSource(auditDeclared, name, "records", d.Records, "by", d.By, "account", d.Account); err != nil {
		return fail(err)
	}
	if err := a.site.keepDeclaration(d); err != nil {
		return fail(err)
	}
	r.Declared, r.Waits = &d, ""
	return r, nil
}

func (s *site) keepDeclaration(d Declaration) error {
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

// unlike says which of the schema's columns a table lacks. Of its own columns
// it says only how many there are: where a header is missing their names are a
// record.
func unlike(own dataset.Schema, found dataset.Lines) error {
	missing := slices.DeleteFunc(columnsOf(own), func(c string) bool {
		return slices.Contains(found.Columns, c) || c == own.Party // which may be missing
	})
	const most = 12
	more := ""
	if n := len(missing) - most; n > 0 {
		missing, more = missing[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("no column %q%s; the file has %d columns: rename them or correct the schema; if the file has no header, list its names under columns in this site's schema",
		strings.Join(missing, ", "), more, len(found.Columns))
}

// WriteText writes a report for people.
func (r SourceReport) WriteText(w io.Writer) error {
	var t page
	t.line("source", "%s, %s", r.Source, r.File)
	switch {
	case r.Declared != nil:
		t.line("declared", "%d records for every study, by %s on %s", r.Declared.Records, r.Declared.By, r.Declared.At.Format(time.DateOnly))
	default:
		t.line("waits", "%s", r.Waits)
	}
	if r.Read {
		t.line("found", "%d records, %d columns", r.Found, len(r.Columns))
		t.line("columns", "%s", strings.Join(r.Columns, ", "))
	}
	for _, m := range r.Remarks {
		t.line("", "%s", m)
	}
	if r.Changed {
		t.line("changed", "the file is not what it was on that day; studies get its records as they are")
	}
	if r.Problem != "" {
		t.line("problem", "%s", r.Problem)
	}
	return t.writeTo(w)
}
