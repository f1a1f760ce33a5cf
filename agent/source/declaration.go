package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"caucus/dataset"
	"caucus/dataset/database"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
	"caucus/internal/textpage"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// ErrUndeclared says that a person must first declare a source. Nothing is sent until then.
var ErrUndeclared = errors.New("no declared source")

// Declaration is a person's statement about a source: the format of its file, the meaning of its
// columns, and its number of records. Whether this site takes part in a study, and everything
// public about its contribution, depends on declarations, policy and ledger, never on the present
// content of the file. A declaration changes only when a person declares the source again.
//
// A declaration makes three facts public: that the source is declared (until then a study waits,
// and the coordinator hears so unless the site is quiet); the meaning of the schema (a plan with
// another meaning is declined); and Records. A plan's columns are compared with the schema, which
// the site has published or agreed on, and never with the file. Otherwise a coordinator could ask
// for one column after another and learn which of them the file has, or, if the header is missing,
// what the first record is. So a source needs a schema.
type Declaration struct {
	Source string `json:"source"`
	File   string `json:"file,omitempty"`
	// Query is the database query that is read in place of a file.
	Query *QueryOrigin `json:"query,omitempty"`
	// Digest is the SHA-256 of the file's bytes on that day, or of a query's driver and text. For
	// the site only.
	Digest string `json:"sha256"`
	// Form is the detected format of the file. The file is read in this format only.
	Form   files.Format   `json:"form"`
	Schema dataset.Schema `json:"schema"`
	// Mapping says how the file is written and how each column of the schema is made.
	Mapping mapping.Mapping `json:"mapping,omitzero"`
	// Redeclare is the source's setting when it was declared.
	Redeclare string `json:"redeclare,omitempty"`
	// VouchedColumns are the schema's columns that were computed from other records, and for which
	// a person vouched. Proofs about a record do not cover these columns. For a query they are all
	// columns.
	VouchedColumns []string `json:"vouched,omitempty"`
	// Columns are the file's columns, in its order.
	Columns []string `json:"columns"`
	// RecordsRead is the number of records that were read. Records is the number that every study
	// gets: RecordsRead rounded down to three digits. So at most 1 % of them are left out, chosen
	// by a keyed order. For a source whose file is written again regularly, Records has two digits,
	// and empty records fill a shorter file.
	RecordsRead int `json:"found,omitempty"`
	Records     int `json:"records"`
	// Patients is the number of records that every study at unit patient gets, one of each patient:
	// the number of patients' numbers that were read, rounded down as Records is. If the mapping
	// says that no person has two records (mapping.OneRecord), it is Records. 0: the source takes
	// part in no study at unit patient.
	Patients int `json:"patients,omitempty"`
	// ImportDigest is the SHA-256 of the table of imported records. Empty if the file is written
	// again regularly.
	ImportDigest string    `json:"import,omitempty"`
	At           time.Time `json:"at"`
	By           string    `json:"by"`
	Account      string    `json:"account"` // the operating system's user
}

// QueryOrigin says which database gave the records, by a query that Declaration.Digest identifies.
// It holds no password and no address.
type QueryOrigin struct {
	Driver  string `json:"driver"`
	DSNFile string `json:"dsn_file"`
	// RowDependences lists the parts of the query that may make a row depend on other rows
	// (database.RowDependences).
	RowDependences []string `json:"derives,omitempty"`
	// Zone is the time zone of the session in which the query ran. Empty for SQLite, and for an
	// import by an earlier version, whose sessions were in UTC.
	Zone string `json:"zone,omitempty"`
}

// Origin names the origin of the records, for people.
func (d Declaration) Origin() string {
	if d.Query == nil {
		return d.File
	}
	return fmt.Sprintf("a query of %s (SHA-256 %s)", d.Query.Driver,
		d.Digest[:min(16, len(d.Digest))])
}

func (d Declaration) form() string {
	if d.Query != nil {
		form := "rows of a query of " + d.Query.Driver
		if d.Query.Zone != "" {
			form += " in the time zone " + d.Query.Zone
		}
		return form
	}
	return d.Form.String()
}

// ClaimText is the claim of the person who declared the source. Nobody can check it.
func (d Declaration) ClaimText() string {
	return d.claim() + ". Caucus cannot check this"
}

func (d Declaration) claim() string {
	claim := "no column of a record was computed from other records"
	switch {
	case d.Query != nil:
		claim = "each row of the query comes from one person and would be there whatever the other rows are"
		if len(d.Query.RowDependences) > 0 {
			claim += "; the query has " + strings.Join(d.Query.RowDependences, ", ")
		}
	case len(d.VouchedColumns) > 0:
		claim += ", except " + strings.Join(d.VouchedColumns, ", ")
	}
	if d.Mapping.Patient == mapping.OneRecord {
		claim += "; no person has two records"
	}
	return claim
}

// vouchedFor returns an error for a query if no person vouches for it. Call it before the query
// runs.
func (s Source) vouchedFor(vouch bool) error {
	if !s.queries() || vouch {
		return nil
	}
	text, err := s.Query.Text()
	if err != nil {
		return err
	}
	d := Declaration{Query: &QueryOrigin{RowDependences: database.RowDependences(text)}}
	return fmt.Errorf("the records come from a query: answer for all of its columns with --vouch, if %s", d.claim())
}

// ApprovedDigest is the digest of the facts about a source that a person is shown and approves: the
// file's digest, its format, schema and mapping, the columns, the number of records, and who
// declared it when.
//
// Proof note: an approval that depends on this digest must reveal nothing about the records. The
// digest includes the time of the declaration, so each declaration has another digest, even of the
// same file. So whether a study takes part depends on what people did, not on whether the file
// changed between two declarations. Later content of the file is not in the digest.
func (d Declaration) ApprovedDigest() string {
	b, err := json.Marshal(d)
	if err != nil { // impossible: it was read from JSON
		panic(err)
	}
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

// Objections lists what a plan asks for and a declared source lacks, a line each. It depends on
// these two alone.
func (d Declaration) Objections(p study.Plan) []string {
	out := d.lacks(p)
	if n := d.Counted(p); p.Records > n {
		out = append(out, fmt.Sprintf("source %s: the study says that each party has at least %s, it was declared with %d", d.Source, textpage.Count(p.Records, study.Counted(p.Unit)), n))
	}
	// At unit party, δ depends on the number of parties, which the plan's own check has compared
	// with δ.
	if err := p.CheckDelta(d.uses(p), "of source "+d.Source+" that the study uses"); err != nil &&
		p.Unit != privacy.Party {
		out = append(out, err.Error())
	}
	return out
}

// Refuses returns the first of a plan's objections as an error, nil if there is none.
func (d Declaration) Refuses(p study.Plan) error { return objection(d.Objections(p)) }

func (d Declaration) uses(p study.Plan) int {
	if most := kinds.Explain(p).PerParty; most > 0 {
		return int(min(most, int64(d.Counted(p))))
	}
	return d.Counted(p)
}

// Counted returns the number of records that a plan's study gets: at unit patient one of each
// declared patient, else all that were declared.
func (d Declaration) Counted(p study.Plan) int {
	if p.Unit == privacy.Patient {
		return d.Patients
	}
	return d.Records
}

// choices lists the rules by which an import has a table of one record of each patient.
func (d Declaration) choices() []study.Choice {
	switch {
	case d.Patients == 0 || d.Mapping.LacksPatientNumbers():
		return nil
	case d.Schema.PatientDate == "":
		return []study.Choice{study.ByKey}
	}
	return study.Choices()
}

func (d Declaration) lacks(p study.Plan) []string {
	out := p.Schema.Differences(d.Schema)
	if asksSets(p) && !d.has(p.Schema.Party) {
		out = append(out, fmt.Sprintf("no column %q, which names the set of each record", p.Schema.Party))
	}
	if (p.Unit == privacy.Patient || p.PerPatient > 0) && d.Patients == 0 {
		of := "a study at unit patient"
		if p.PerPatient > 0 {
			of = "a study of so many records of a patient (per_patient)"
		}
		words := fmt.Sprintf("none of its records had a patient number (%s), or an earlier version declared it: %s needs numbers: declare it again when the file has them", p.Schema.Patient, of)
		if d.Redeclare != "" {
			words = "its file is read again for each study, in a time that tells how many records patients have: " + of + " needs an import: leave redeclare out"
		} else if d.Mapping.LacksPatientNumbers() {
			words = "its mapping says patient: none, so that one person may have several records: " + of + " needs a patient number, or patient: one-record where no person has two records"
		}
		out = append(out, words)
	}
	for i := range out {
		out[i] = fmt.Sprintf("source %s: %s", d.Source, out[i])
	}
	return out
}

func (d Declaration) has(column string) bool {
	b, err := d.Mapping.Bind(d.Columns, d.Schema)
	return err == nil && b.Has(column)
}

// Cells is the time to read a record, for any study, in units of the time for a cell of plain text.
// An import is read with all columns of the schema. A file that is written again regularly is read
// with all its columns, from which the schema's are made.
func (d Declaration) Cells() float64 {
	if d.Redeclare != RedeclareDaily {
		return float64(len(d.Schema.AllColumns())) / 4
	}
	cells := d.Form.Cells() * float64(len(d.Columns))
	if b, err := d.Mapping.Bind(d.Columns, d.Schema); err == nil {
		cells += b.Cells()
	}
	return cells
}

func objection(all []string) error {
	if len(all) == 0 {
		return nil
	}
	return errors.New(all[0])
}

// asksSets reports whether a plan asks for the column that names each record's set. A plan without
// a kind, which is used to read a source alone, does not.
func asksSets(p study.Plan) bool {
	kind, err := kinds.FindKind(p.Kind)
	return err == nil && kind.Words(p).SetColumn
}

// A site shows its number of records rounded down to these digits: for an import, and for a file
// that is written again regularly.
const (
	importDigits = 3
	dailyDigits  = 2
)

// RoundDown keeps the first digits of a count and sets the others to 0, so that few records do not
// change it.
func RoundDown(n, digits int) int {
	most := 1
	for range digits {
		most *= 10
	}
	unit := 1
	for n/unit >= most {
		unit *= 10
	}
	return n / unit * unit
}
