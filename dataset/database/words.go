package database

import (
	"fmt"
	"slices"
	"strings"
)

// words cuts a statement into its bare words, in capitals, and its signs. It leaves out texts,
// quoted names and comments as a kind of database reads them.
func words(sql, driver string) (all []string) {
	for len(sql) > 0 {
		n := quoted(sql, driver)
		if n == 0 {
			for n < len(sql) && inWord(sql[n]) {
				n++
			}
			if n = max(n, 1); sql[0] > ' ' {
				all = append(all, strings.ToUpper(sql[:n]))
			}
		}
		sql = sql[n:]
	}
	return all
}

func inWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// quoted is the length of the text, quoted name or comment that s begins with, 0 for none.
func quoted(s, driver string) int {
	begins := func(prefix string) bool { return strings.HasPrefix(s, prefix) }
	switch {
	case begins("--") && (driver != MySQL || len(s) == 2 || s[2] <= ' '), begins("#") && driver == MySQL:
		return through(s, 0, "\n")
	case begins("/*!") && driver == MySQL, begins("/*M!") && driver == MySQL: // what follows is run
		return strings.IndexByte(s, '!') + 1
	case begins("/*"):
		return comment(s, driver == Postgres)
	case begins("'"):
		return literal(s, driver == MySQL)
	case begins("e'") || begins("E'"):
		return 1 + literal(s[1:], driver != SQLite)
	case begins(`"`):
		return literal(s, driver == MySQL)
	case begins("`"):
		return literal(s, false)
	case begins("[") && driver == SQLite:
		return through(s, 0, "]")
	case begins("$") && driver == Postgres:
		n := 1
		for n < len(s) && s[n] != '$' && inWord(s[n]) {
			n++
		}
		if n < len(s) && s[n] == '$' {
			return through(s, n+1, s[:n+1])
		}
	}
	return 0
}

// through is where s goes on behind the first end from a place on.
func through(s string, from int, end string) int {
	if at := strings.Index(s[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(s)
}

func comment(s string, nests bool) int {
	depth, n := 1, 2
	for n < len(s) && depth > 0 {
		switch {
		case strings.HasPrefix(s[n:], "*/"):
			depth, n = depth-1, n+2
		case nests && strings.HasPrefix(s[n:], "/*"):
			depth, n = depth+1, n+2
		default:
			n++
		}
	}
	return n
}

// literal is the length of what stands in quotes like the first one; two quotes are a quote in it.
func literal(s string, backslash bool) int {
	for n := 1; n < len(s); n++ {
		switch {
		case backslash && s[n] == '\\':
			n++
		case s[n] == s[0] && n+1 < len(s) && s[n+1] == s[0]:
			n++
		case s[n] == s[0]:
			return n + 1
		}
	}
	return len(s)
}

// reads refuses what is not one statement that reads. The database refuses it too, but for files
// that MySQL's INTO would write.
func (q Query) reads(sql string) error {
	all := words(sql, q.Driver)
	for len(all) > 0 && all[len(all)-1] == ";" {
		all = all[:len(all)-1]
	}
	first := slices.IndexFunc(all, func(w string) bool { return w != "(" })
	places := map[string][]string{MySQL: {"?"}, SQLite: {"?", ":", "@"}}[q.Driver]
	switch {
	case first < 0:
		return fmt.Errorf("sql: it has no statement: write a SELECT")
	case slices.Contains(all, ";"):
		return fmt.Errorf("sql: it has more than one statement: write one SELECT")
	case !slices.Contains([]string{"SELECT", "WITH", "VALUES", "TABLE"}, all[first]):
		return fmt.Errorf("sql: it begins with %s: write a SELECT, which only reads", all[first])
	}
	for i, w := range all {
		switch {
		case slices.Contains(places, w):
			return fmt.Errorf("sql: it has a place for a value, %s: write the value", w)
		case !slices.Contains([]string{"INTO", "INSERT", "UPDATE", "DELETE", "MERGE"}, w):
		case i > 0 && all[i-1] == ".", i+1 < len(all) && all[i+1] == "(": // a column, a function
		default:
			return fmt.Errorf("sql: it says %s, which writes: write a SELECT that only reads; if it is a column's name, quote it", w)
		}
	}
	return nil
}

var aggregates = strings.Fields(`ANY_VALUE ARRAY_AGG AVG BIT_AND BIT_OR BIT_XOR BOOL_AND BOOL_OR CORR COUNT
	COVAR_POP COVAR_SAMP EVERY GROUP_CONCAT JSON_AGG JSON_ARRAYAGG JSON_GROUP_ARRAY JSON_GROUP_OBJECT JSON_OBJECTAGG
	JSON_OBJECT_AGG JSONB_AGG JSONB_OBJECT_AGG MAX MEDIAN MIN MODE PERCENTILE_CONT PERCENTILE_DISC RANGE_AGG
	REGR_AVGX REGR_AVGY REGR_COUNT REGR_INTERCEPT REGR_R2 REGR_SLOPE REGR_SXX REGR_SXY REGR_SYY STD STDDEV
	STDDEV_POP STDDEV_SAMP STRING_AGG SUM TOTAL VAR_POP VAR_SAMP VARIANCE XMLAGG`)

// Derives lists what in a statement may make a row hang on other rows or other tables, for the
// person who must vouch that it does not: clauses by their words, "comma join", "sub-query" and
// "aggregate count". It is advice: it reads words, not meanings, knows no view and no function of
// the site, and may name too much.
func Derives(sql string) (found []string) {
	for _, driver := range []string{Postgres, MySQL} {
		all := append(append([]string{""}, words(sql, driver)...), "")
		from := []bool{false} // by depth of brackets: in a list of tables
		for i := 1; i+1 < len(all); i++ {
			says, before, w, after := "", all[i-1], all[i], all[i+1]
			switch top := len(from) - 1; {
			case before == ".":
			case w == "(":
				from = append(from, false)
			case w == ")":
				from = from[:max(top, 1)]
			case w == "," && from[top]:
				says = "comma join"
			case w == "FROM":
				from[top] = before != "DISTINCT"
			case w == "DISTINCT" && after == "FROM": // a comparison
			case w == "JOIN" || w == "STRAIGHT_JOIN":
				says = "JOIN"
			case w == "GROUP" && after == "BY":
				says, from[top] = "GROUP BY", false
			case slices.Contains([]string{"DISTINCT", "LIMIT", "OFFSET", "FETCH", "OVER", "UNION", "INTERSECT", "EXCEPT"}, w):
				says, from[top] = w, false
			case slices.Contains([]string{"WHERE", "ORDER", "WINDOW", "HAVING", "FOR"}, w):
				from[top] = false
			case slices.Contains([]string{"SELECT", "VALUES", "TABLE", "WITH"}, w) && before == "(" && i > len(from):
				says = "sub-query"
			case after == "(" && slices.Contains(aggregates, w):
				says = "aggregate " + strings.ToLower(w)
			}
			if says != "" && !slices.Contains(found, says) {
				found = append(found, says)
			}
		}
	}
	return found
}
