package database

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"caucus/dataset/dates"
	"caucus/internal/yamlfile"
)

// The values of Query.Driver.
const (
	Postgres = "postgres"
	MySQL    = "mysql"
	SQLite   = "sqlite"
)

const (
	usualTimeout, longestTimeout = 30 * time.Minute, 24 * time.Hour
	usualRows                    = 50_000_000
	longestText                  = 1 << 20 // bytes of a file that a query names
)

// Query is one statement that reads a site's records from its own database.
type Query struct {
	// Driver is the kind of the database: postgres, mysql, mariadb or sqlite.
	Driver string `yaml:"driver"`
	// DSNFile is a file with the address of the database, the account's name and its password,
	// which never stand here: postgres://name:password@host:5432/database,
	// name:password@tcp(host:3306)/database for mysql, the path of the file for sqlite. Its owner
	// alone may read it (mode 0600). The account should have the right to read and no other.
	DSNFile string `yaml:"dsn_file"`
	// SQL is the one statement, a SELECT. A record is a row, in any order.
	SQL string `yaml:"sql"`
	// SQLFile is a file with the statement, in place of sql.
	SQLFile string `yaml:"sql_file"`
	// Timeout bounds the whole query; 30m where it is not given.
	Timeout time.Duration `yaml:"timeout"`
	// MaxRows is the most rows that the query may give, 50,000,000 by default. More are an error.
	MaxRows int `yaml:"rows"`
	// Zone is the time zone of the query's session, from the source's mapping; empty: the account's
	// own.
	Zone string `yaml:"-"`
}

// UnmarshalYAML takes the driver mariadb for mysql.
func (q *Query) UnmarshalYAML(n *yaml.Node) error {
	type plain Query
	err := yamlfile.DecodeNode(n, (*plain)(q))
	if q.Driver == "mariadb" {
		q.Driver = MySQL
	}
	return err
}

// Validate checks what the configuration says, and that a statement given in it is one that reads.
// It opens neither files nor database. Errors begin with the key.
func (q Query) Validate() error {
	switch {
	case !slices.Contains([]string{Postgres, MySQL, SQLite}, q.Driver):
		return fmt.Errorf("driver: %q: write postgres, mysql, mariadb or sqlite", q.Driver)
	case q.DSNFile == "":
		return errors.New("dsn_file: name the file that holds the database's address and password: they stand nowhere else")
	case (q.SQL == "") == (q.SQLFile == ""):
		return errors.New("sql: write the query, or give the file that holds it as sql_file: one of the two")
	case q.Timeout != 0 && (q.Timeout < time.Second || q.Timeout > longestTimeout):
		return fmt.Errorf("timeout: %v: write 1s to %v, or leave it out", q.Timeout, longestTimeout)
	case q.MaxRows < 0:
		return fmt.Errorf("rows: %d: write the most rows that are right, or leave it out", q.MaxRows)
	case q.Zone != "":
		if _, err := dates.ZoneNamed(q.Zone); err != nil {
			return err
		}
	}
	if q.SQL == "" {
		return nil
	}
	return q.reads(q.SQL)
}

// RelativeTo puts a query's relative paths below a folder.
func (q Query) RelativeTo(folder string) Query {
	q.DSNFile, q.SQLFile = yamlfile.ResolvePath(folder, q.DSNFile),
		yamlfile.ResolvePath(folder, q.SQLFile)
	return q
}

// Text returns the statement, from SQLFile if that is given, at most 1 MiB. It fails where Validate
// does, and if a file's statement does more than read.
func (q Query) Text() (string, error) {
	if err := q.Validate(); err != nil || q.SQLFile == "" {
		return q.SQL, err
	}
	text, err := read("sql_file", q.SQLFile, 0)
	if err != nil {
		return "", err
	}
	return text, q.reads(text)
}

// Digest returns the SHA-256 in hex of the driver and the statement, without the address.
func (q Query) Digest() (string, error) {
	text, err := q.Text()
	return digest(q.Driver, text), err
}

func digest(driver, text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(driver+"\n"+text)))
}

// read reads the file that a key names. secret holds the permissions that the file must not give.
func read(key, path string, secret os.FileMode) (string, error) {
	var content []byte
	info, err := os.Stat(path)
	if err == nil && info.Size() <= longestText {
		content, err = os.ReadFile(path)
	}
	// without the byte order mark of some editors
	text := strings.TrimSpace(strings.TrimPrefix(string(content), "\ufeff"))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", key, err)
	case info.Mode().Perm()&secret != 0 && runtime.GOOS != "windows":
		return "", fmt.Errorf("%s: others may read the password in %s: run chmod 600 on it", key, path)
	case info.Size() > longestText:
		return "", fmt.Errorf("%s: %s has more than %d bytes: name another file", key, path, longestText)
	case text == "":
		return "", fmt.Errorf("%s: %s is empty", key, path)
	}
	return text, nil
}

// tokens finds the words and signs of a statement outside comments, texts and quoted names. It
// ignores PostgreSQL's nested comments and $tag$ texts, so RowDependences may name too much or too
// little there.
var tokens = map[string]*regexp.Regexp{
	Postgres: besides("--[^\n]*", comment, `[eE]'(?:\\.|''|[^'\\])*'?`, `'[^']*'?`, `"[^"]*"?`, `\$\$.*?(?:\$\$|$)`),
	// MySQL runs what follows /*!
	MySQL: besides("--(?:[ \t][^\n]*|\\s|$)", "#[^\n]*", `/\*M?!`, comment,
		`'(?:\\.|[^'\\])*'?`, `"(?:\\.|[^"\\])*"?`, "`[^`]*`?"),
	SQLite: besides("--[^\n]*", comment, `'[^']*'?`, `"[^"]*"?`, "`[^`]*`?", `\[[^\]]*\]?`),
}

const comment = `/\*.*?(?:\*/|$)`

func besides(none ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)` + strings.Join(none, "|") + `|([\w$\x{80}-\x{10FFFF}]+|\S)`)
}

// words returns a statement's words outside quotes, in capitals, and its signs.
func words(sql, driver string) (all []string) {
	for _, match := range tokens[driver].FindAllStringSubmatch(sql, -1) {
		if match[1] != "" {
			all = append(all, strings.ToUpper(match[1]))
		}
	}
	return all
}

// changes finds words that write, except as names of columns or functions; places finds
// placeholders.
var (
	selects = []string{"SELECT", "WITH", "VALUES", "TABLE"}
	changes = regexp.MustCompile(`[^.] (INTO|INSERT|UPDATE|DELETE|MERGE)( [^(]|$)`)
	places  = map[string]string{Postgres: ` \$\d+`, MySQL: ` \?`, SQLite: ` [?:@$]`}
)

// reads refuses anything but one statement that reads. The database refuses other statements as
// well, except MySQL's INTO, which would write a file.
func (q Query) reads(sql string) error {
	text := strings.TrimRight(strings.Join(words(sql, q.Driver), " "), "; ")
	first, _, _ := strings.Cut(strings.TrimLeft(text, "( "), " ")
	place, change := regexp.MustCompile(places[q.Driver]).FindString(text),
		changes.FindStringSubmatch(text)
	switch {
	case first == "":
		return errors.New("sql: it has no statement: write a SELECT")
	case strings.Contains(text, ";"):
		return errors.New("sql: it has more than one statement: write one SELECT")
	case !slices.Contains(selects, first):
		return fmt.Errorf("sql: it begins with %s: write a SELECT, which only reads", first)
	case place != "":
		return fmt.Errorf("sql: it has a place for a value,%s: write the value", place)
	case change != nil:
		return fmt.Errorf("sql: it says %s, which writes: write a SELECT that only reads, and quote names", change[1])
	}
	return nil
}

// clauses maps a clause's first word, which ends a list of tables, to what RowDependences reports
// ("": nothing).
var clauses = map[string]string{
	"DISTINCT": "DISTINCT", "JOIN": "JOIN", "STRAIGHT_JOIN": "JOIN", "GROUP": "GROUP BY", "LIMIT": "LIMIT",
	"OFFSET": "OFFSET", "FETCH": "FETCH", "OVER": "OVER", "UNION": "UNION", "INTERSECT": "INTERSECT", "EXCEPT": "EXCEPT",
	"WHERE": "", "ORDER": "", "WINDOW": "", "HAVING": "", "FOR": "",
}

var aggregates = regexp.MustCompile(`^(ANY_VALUE|AVG|BIT_(AND|OR|XOR)|BOOL_(AND|OR)|CORR|COUNT|COVAR_\w+|EVERY|` +
	`GROUP_CONCAT|JSON_(ARRAYAGG|OBJECTAGG|GROUP_\w+)|MAX|MEDIAN|MIN|MODE|PERCENTILE_\w+|REGR_\w+|STD|STDDEV\w*|` +
	`SUM|TOTAL|VAR_\w+|VARIANCE|XMLAGG|\w+_AGG)$`)

// RowDependences lists the parts of a statement through which a row may depend on other rows or
// tables, for the person who vouches that no row does: clauses by their words, "comma join",
// "sub-query" and "aggregate count". It is only advice: it sees words, not meanings, knows no view
// or function of the site, and may name too much.
func RowDependences(sql string) (found []string) {
	for _, driver := range []string{Postgres, MySQL} {
		all := append(append([]string{""}, words(sql, driver)...), "")
		tables := []bool{false} // for each open bracket, whether w is in a list of tables
		for i := 1; i+1 < len(all); i++ {
			says, before, w, after := "", all[i-1], all[i], all[i+1]
			top := len(tables) - 1
			clause, begins := clauses[w]
			switch {
			case before == ".", w == "DISTINCT" && after == "FROM": // a column, a comparison
			case w == "(":
				tables = append(tables, false)
			case w == ")":
				tables = tables[:max(top, 1)]
			case w == "FROM":
				tables[top] = before != "DISTINCT"
			case w == "," && tables[top]:
				says = "comma join"
			case begins:
				says, tables[top] = clause, false
			case before == "(" && i > len(tables) && slices.Contains(selects, w):
				says = "sub-query"
			case after == "(" && aggregates.MatchString(w):
				says = "aggregate " + strings.ToLower(w)
			}
			if says != "" && !slices.Contains(found, says) {
				found = append(found, says)
			}
		}
	}
	return found
}
