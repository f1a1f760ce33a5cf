package database

import (
	"slices"
	"strings"
	"testing"
)

// TestWords: texts, quoted names and comments contain no words, by the rules of each kind of
// database.
func TestWords(t *testing.T) {
	for _, c := range []struct{ driver, sql, want string }{
		{Postgres, "SELECT a, b2 FROM t;", "SELECT A , B2 FROM T ;"},
		{Postgres, "select 'it''s; into' x", "SELECT X"},
		{Postgres, `select 'a\' into 'b'`, "SELECT INTO"},
		{MySQL, `select 'a\' into ' b`, "SELECT B"},
		{MySQL, `select "a\" into " b`, "SELECT B"},
		{SQLite, `select 'a\' into 'b'`, "SELECT INTO"},
		{Postgres, `select E'a\' into ' b`, "SELECT B"},
		{Postgres, `select like'x' into e'''`, "SELECT LIKE INTO"},
		{Postgres, `select "group by""over" x`, "SELECT X"},
		{MySQL, "select `into``into` x", "SELECT X"},
		{SQLite, "select [into] x", "SELECT X"},
		{Postgres, "select a[into] x", "SELECT A [ INTO ] X"},
		{Postgres, "select 1 -- into\nfrom t", "SELECT 1 FROM T"},
		{MySQL, "select 1--into", "SELECT 1 - - INTO"},
		{MySQL, "select 1 -- into\n, 2", "SELECT 1 , 2"},
		{MySQL, "select 1 # into\n, 2", "SELECT 1 , 2"},
		{Postgres, "select 1 # 2", "SELECT 1 # 2"},
		{MySQL, "select /* a /* b */ into", "SELECT INTO"},
		{MySQL, "select /*!50000 into */ x", "SELECT 50000 INTO * / X"},
		{MySQL, "select /*M!100 into */ x", "SELECT 100 INTO * / X"},
		{Postgres, "select $$ into $$ x", "SELECT X"},
		{Postgres, "select $1 into", "SELECT $1 INTO"},
		{MySQL, "select a$$ into $$", "SELECT A$$ INTO $$"},
		{Postgres, "select 'open into", "SELECT"},
		{Postgres, "select /* open into", "SELECT"},
		{Postgres, "select größe", "SELECT GRÖSSE"},
		{Postgres, "", ""},
	} {
		got := strings.Join(words(c.sql, c.driver), " ")
		if want := strings.ReplaceAll(c.want, "GRÖSSE", strings.ToUpper("größe")); got != want {
			t.Errorf("%s: %q are the words %q, want %q", c.driver, c.sql, got, want)
		}
	}
}

// TestReads: statements that do more than read are refused before a database sees them.
func TestReads(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1":                                "",
		" (select 1) ; ; -- end":                  "",
		"WITH a AS (SELECT 1) TABLE a":            "",
		"VALUES (1)":                              "",
		"SELECT 'a;b', \"into\", t.update FROM t": "",
		"SELECT insert('a', 1, 1, 'b')":           "",
		"":                                        "no statement",
		" -- SELECT 1":                            "no statement",
		"SELECT 1; SELECT 2":                      "more than one statement",
		"SELECT 1; DROP TABLE t":                  "more than one statement",
		"INSERT INTO t VALUES (1)":                "begins with INSERT",
		"UPDATE t SET a = 1 RETURNING a":          "begins with UPDATE",
		"COMMIT":                                  "begins with COMMIT",
		"CALL p()":                                "begins with CALL",
		"EXPLAIN ANALYZE DELETE FROM t":           "begins with EXPLAIN",
		"WITH a AS (DELETE FROM t RETURNING 1) SELECT * FROM a": "DELETE, which writes",
		"SELECT * INTO u FROM t":                                "INTO, which writes",
		"SELECT * FROM t INTO OUTFILE '/tmp/t'":                 "INTO, which writes",
		"SELECT * FROM t FOR UPDATE":                            "UPDATE, which writes",
	} {
		for _, driver := range []string{Postgres, MySQL, SQLite} {
			err := Query{Driver: driver}.reads(sql)
			if want == "" && err != nil || want != "" &&
				(err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %q: %v, want %q", driver, sql, err, want)
			}
		}
	}
	for driver, sql := range map[string]string{MySQL: "SELECT ?", SQLite: "SELECT :a"} {
		if err := (Query{Driver: driver}).reads(sql); err == nil ||
			!strings.Contains(err.Error(), "place for a value") {
			t.Errorf("%s: %q: %v", driver, sql, err)
		}
	}
}

func TestDerives(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a, b FROM t WHERE a > 1 ORDER BY a, b": "",
		"SELECT 'GROUP BY', \"over\", t.limit FROM t":  "",
		"SELECT a IS NOT DISTINCT FROM b, c FROM t":    "",
		"SELECT extract(year FROM a), b FROM t":        "",
		"SELECT minimum, counted, (a + b) FROM t":      "",
		"SELECT DISTINCT a FROM t":                     "DISTINCT",
		"SELECT a FROM t GROUP BY a":                   "GROUP BY",
		"SELECT count(*), max (a) FROM t":              "aggregate count|aggregate max",
		"SELECT rank() OVER (ORDER BY a) FROM t":       "OVER",
		"SELECT a FROM t ORDER BY a LIMIT 5 OFFSET 2":  "LIMIT|OFFSET",
		"SELECT a FROM t FETCH FIRST 5 ROWS ONLY":      "FETCH",
		"SELECT a FROM t UNION ALL SELECT a FROM u":    "UNION",
		"TABLE t INTERSECT TABLE u EXCEPT TABLE v":     "INTERSECT|EXCEPT",
		"SELECT * FROM t LEFT JOIN u USING (a)":        "JOIN",
		"SELECT * FROM t straight_join u":              "JOIN",
		"SELECT * FROM t, u":                           "comma join",
		"SELECT * FROM t WHERE a IN (1, 2)":            "",
		"SELECT a, (SELECT max(b) FROM u) FROM t":      "sub-query|aggregate max",
		"WITH u AS (SELECT 1) SELECT * FROM u":         "sub-query",
		"((SELECT a FROM t))":                          "",
		"SELECT a FROM t WHERE EXISTS (TABLE u)":       "sub-query",
		"SELECT 'a\\' GROUP BY b":                      "GROUP BY", // to all but MySQL
		"SELECT 'a\\', max(b) FROM t":                  "aggregate max",
		"SELECT a FROM t -- LIMIT":                     "",
		"select a from t group /* x */ by a":           "GROUP BY",
	} {
		if got := strings.Join(RowDependences(sql), "|"); got != want {
			t.Errorf("%q derives by %q, want %q", sql, got, want)
		}
	}
}

// FuzzWords: any text is cut without a panic, its words occur in it in order, and a quoted copy of
// it contains no word.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"SELECT 'a''b' FROM t", "$a$ x $a$ /* /* */ */ -- y\n z", "E'\\' [x] `y` \"z\" # 1", "(((("} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for _, driver := range []string{Postgres, MySQL, SQLite} {
			rest := strings.ToUpper(sql)
			for _, w := range words(sql, driver) {
				_, after, ok := strings.Cut(rest, w)
				if !ok && isASCII(sql) {
					t.Fatalf("%s: %q has not the word %q", driver, sql, w)
				}
				rest = after
			}
			inText := "SELECT '" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(sql) + "' END"
			if got := words(inText, driver); !slices.Equal(got, []string{"SELECT", "END"}) {
				t.Fatalf("%s: %q has the words %q", driver, inText, got)
			}
		}
		RowDependences(sql)
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}
