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

// ErrUndeclared is wrapped where a person must declare a source first. Nothing is sent until then.
var ErrUndeclared = errors.New("no declared source")

// Declaration is a person's statement about a source: how its file is written, what its columns mean and
// how many records it has. Whether this site takes part in a study, and everything public about what it
// sends, depends on declarations, policy and ledger, never on what the file holds at the time. Only
// another declaration changes a declaration.
//
// What it tells: that the source is declared (until then a study waits, as the coordinator is told
// unless the site is quiet), what its schema means (a plan that means something else is declined) and
// Records. A plan's columns are compared with the schema, which the site has published or agreed on,
// never with the file: otherwise a coordinator could ask for column after column and learn from the
// answers which ones the file has, or, where a header is missing, what the first record is. So a source
// needs a schema.
type Declaration struct {
	Source string `json:"source"`
	File   string `json:"file,omitempty"`
	// Query is the database query that replaces a file.
	Query *Asked `json:"query,omitempty"`
	// Digest is the SHA-256 of the file's bytes on that day, for the site's eyes; of a query, of its
	// driver and text.
	Digest string `json:"sha256"`
	// Form is the detected kind of the file: it is read as that and as nothing else.
	Form   files.Format   `json:"form"`
	Schema dataset.Schema `json:"schema"`
	// Mapping says how the file is written and what each column of the schema is made of.
	Mapping mapping.Mapping `json:"mapping,omitzero"`
	// Redeclare is the source's setting at that time.
	Redeclare string `json:"redeclare,omitempty"`
	// Vouched are the schema's columns that were computed from other records and that a person answered
	// for: what is proven for a record does not cover them. For a query they are all columns.
	Vouched []string `json:"vouched,omitempty"`
	// Columns are the file's, in its order.
	Columns []string `json:"columns"`
	// Found is the number of records read; Records is how many every study gets: Found rounded down to
	// three digits, so that at most 1 % are left out, by keyed order. For a source that is written anew
	// it is two digits, and empty records replace those that the file then lacks.
	Found   int `json:"found,omitempty"`
	Records int `json:"records"`
	// Import is the SHA-256 of the table of imported records, empty for a source that is written anew.
	Import  string    `json:"import,omitempty"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Account string    `json:"account"` // the operating system's user
}

// Asked is a query as it was run.
type Asked struct {
	Driver  string `json:"driver"`
	DSNFile string `json:"dsn_file"`
	// Derives lists the parts of its text that may make a row depend on other rows (database.Derives).
	Derives []string `json:"derives,omitempty"`
}

// From names the origin of the records, for people.
func (d Declaration) From() string {
	if d.Query == nil {
		return d.File
	}
	return fmt.Sprintf("a query of %s (SHA-256 %s)", d.Query.Driver, d.Digest[:min(16, len(d.Digest))])
}

func (d Declaration) form() string {
	if d.Query != nil {
		return "rows of a query of " + d.Query.Driver
	}
	return d.Form.String()
}

// Claims is the statement of the person who declared the source, which nobody can check.
func (d Declaration) Claims() string {
	claim := "every column of a record was computed from that record alone"
	switch {
	case d.Query != nil:
		claim = "each row of the query comes from one person, and is there whatever the others are"
		if len(d.Query.Derives) > 0 {
			claim += "; the query has " + strings.Join(d.Query.Derives, ", ")
		}
	case len(d.Vouched) > 0:
		claim += ", but for " + strings.Join(d.Vouched, ", ")
	}
	return claim + ": no proof here can know that"
}

// vouchedFor refuses a query that nobody answers for, before it is run.
func (s Source) vouchedFor(vouch bool) error {
	if !s.queries() || vouch {
		return nil
	}
	text, err := s.Query.Text()
	if err != nil {
		return err
	}
	d := Declaration{Query: &Asked{Derives: database.Derives(text)}}
	return fmt.Errorf("the records come from a query: answer for all of its columns with --vouch, if %s", d.Claims())
}

// Shown is the digest of what a person is shown of a source, and says yes to: the file's digest, its
// form, schema and mapping, the columns, the number of records, and who declared it when.
//
// Proof note: an approval that depends on it must tell nothing of the records. The moment of the
// declaration is in it, so that every other declaration has another digest, even of the same file:
// whether a study takes part then depends on what persons did, and not on whether the file had changed
// between two declarations. What the file comes to hold without a declaration is not in it.
func (d Declaration) Shown() string {
	b, err := json.Marshal(d)
	if err != nil { // never: it was read from JSON
		panic(err)
	}
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

// Objections lists, one reason a line, what a plan asks for and a declared source does not have. They
// depend on the plan and the declaration alone.
func (d Declaration) Objections(p study.Plan) []string {
	out := d.lacks(p)
	if p.Records > d.Records {
		out = append(out, fmt.Sprintf("source %s: the study says that each party has at least %s, it was declared with %d", d.Source, textpage.Count(p.Records, "record"), d.Records))
	}
	// At unit party δ was checked against the policy's minimum of parties.
	if err := p.CheckDelta(d.uses(p), "of source "+d.Source+" that the study uses"); err != nil && p.Unit != privacy.Party {
		out = append(out, err.Error())
	}
	return out
}

// Refuses is the first of a plan's objections, nil where there are none.
func (d Declaration) Refuses(p study.Plan) error { return objection(d.Objections(p)) }

// uses is the largest number of declared records that a plan takes.
func (d Declaration) uses(p study.Plan) int {
	if most := kinds.WordsOf(p).PerParty; most > 0 {
		return int(min(most, int64(d.Records)))
	}
	return d.Records
}

// lacks lists what a plan asks of each record and a declared source does not have.
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

// has reports whether the declared file has the columns from which a schema column is made.
func (d Declaration) has(column string) bool {
	b, err := d.Mapping.Bind(d.Columns, d.Schema)
	return err == nil && b.Has(column)
}

// Cells is the time to read a record, in cells of plain text, for any study: of an import all columns of
// the schema are read; of a source written anew all columns of the file, from which the schema's are
// made.
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

// asksSets reports whether a plan asks for the column that names each record's set; a plan of no kind,
// by which a source is read on its own, does not.
func asksSets(p study.Plan) bool {
	kind, err := kinds.Named(p.Kind)
	return err == nil && kind.Words(p).SetColumn
}

// A site shows its number of records rounded to these digits: of an import, and of a file written anew.
const (
	importDigits = 3
	dailyDigits  = 2
)

// RoundDown zeroes all but the first digits of a count, so that few records do not change it.
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
