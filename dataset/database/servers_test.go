//go:build unix

package database

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"caucus/internal/testserver"
)

func TestPostgres(t *testing.T) {
	s := testserver.Postgres(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	k := kind{
		zone: berlin, driver: Postgres, db: s.DB, dsn: s.DSN, secret: []string{testserver.Password, "host=", "caucus"},
		create: `CREATE TYPE letters AS ENUM ('a', 'b');
			CREATE TABLE every (id int, big bigint, little smallint, flag boolean, single real, many double precision,
			price numeric(20, 3), born date, seen timestamp, at_utc timestamptz, clock time, name text, code char(5))`,
		insert: "INSERT INTO every VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
		read:   "SELECT * FROM every ORDER BY id;",
		value: func(column string, v any) any {
			if v, ok := v.(time.Time); ok && column == "seen" {
				return v.Format("2006-01-02 15:04:05.000000")
			}
			return v
		},
		grant:   "GRANT SELECT ON %s TO reader",
		numbers: "SELECT generate_series(1, %d) AS n",
		slow:    "SELECT 1 AS n, pg_sleep(60)::text AS s",
		broken: map[string]string{
			"SELECT name::int AS n FROM people":                         unfit,
			"SELECT 1 / (id - id) AS n FROM people":                     unfit,
			"SELECT rolname, rolpassword FROM pg_authid":                mayNotRead,
			"SELECT $1::int AS n":                                       "place for a value",
			"SELECT id AS \"\" FROM people":                             "does not understand",
			"SELECT tell(name) AS n FROM people":                        "a reason that may quote a record",
			"SELECT 1 AS n; SELECT 2 AS n":                              "more than one statement",
			"SELECT 1 AS a, now() - now() AS b, '{1}'::int[] AS c":      "the column b (interval), c (_int4)",
			"SELECT id FROM people WHERE name = 'x' AND id = 'smith-x'": "22P02",
		},
		writes: []string{
			"INSERT INTO people VALUES (3, 'x') RETURNING id", "UPDATE people SET name = 'x' RETURNING name",
			"WITH gone AS (DELETE FROM people RETURNING id) SELECT id FROM gone", "SELECT id FROM people FOR UPDATE",
			"SELECT bump() AS n", "SELECT nextval('counter') AS n", "SELECT set_config('transaction_read_only', 'off', false) AS n",
		},
		refused: map[string]string{
			"SELECT id, photo FROM photos":                   "bytea",
			"SELECT '{}'::json AS photo":                     "json",
			"SELECT '12:00+01'::timetz AS photo FROM people": "timetz",
		},
	}
	k.do(t, "ALTER ROLE reader SET timezone = 'Europe/Berlin'", "GRANT CREATE ON SCHEMA public TO reader", "CREATE TABLE photos (id int, photo bytea)", "GRANT SELECT ON photos TO reader",
		"CREATE SEQUENCE counter", "GRANT ALL ON counter TO reader",
		"CREATE FUNCTION bump() RETURNS int LANGUAGE sql SECURITY DEFINER AS $$ CREATE TABLE made_by_bump (x int); SELECT 1 $$",
		"CREATE FUNCTION tell(t text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '42P01', MESSAGE = 'no ' || t; END $$")
	k.suite(t)
	ctx := context.Background()

	t.Run("owner", func(t *testing.T) { // an account that may write
		k := k
		k.dsn = strings.NewReplacer("user=reader", "user=owner", testserver.Password,
			testserver.Password+"-owner").Replace(k.dsn)
		for _, text := range k.writes {
			k.says(t, text, k.unchecked(t, text), writes)
		}
		_, err := all(ctx, k.query(t, "SELECT pg_terminate_backend(pg_backend_pid())::text AS n"))
		k.says(t, "a query that ends its own connection", err, goneAway)
	})
	t.Run("forms", func(t *testing.T) {
		for expression, want := range map[string]string{
			"'infinity'::date":       "",
			"'-infinity'::timestamp": "",
			"'0044-03-15 BC'::date":  "",
			"'10000-01-01'::date":    "",
			"'NaN'::numeric":         "",
			"'-Infinity'::float8":    "",
			"1e20::numeric":          "100000000000000000000",
			"-0.0::float8":           "0",
			"1e21::float8":           "1e+21",
			"0.1::float4":            "0.1",
			"'b'::letters":           "b",
			"'  a '::char(9)":        "a",
			"'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'::uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
			"'2024-12-31 00:00+02'::timestamptz":             "2024-12-30 23:00:00",
			"'24:00'::time":                                  "24:00:00",
			"1.50":                                           "1.50",
			"true":                                           "true",
			"NULL":                                           "",
			"'x'":                                            "x",
		} {
			rows, err := all(ctx, k.query(t, "SELECT "+expression+" AS v"))
			if err != nil || len(rows) != 1 || rows[0][0] != want {
				t.Errorf("%s: %q, %v, want %q", expression, rows, err, want)
			}
		}
	})
	// A moment is of one day, in each cell and for the query itself: that of the account's session,
	// or of the zone that the mapping names.
	t.Run("zone", func(t *testing.T) {
		const text = "SELECT t AS v, t::date::text AS d, extract(hour FROM t)::text AS h FROM (SELECT '2024-12-30 22:30Z'::timestamptz AS t) AS x"
		for zone, want := range map[string]string{
			"": "2024-12-30 23:30:00|2024-12-30|23|Europe/Berlin", "Asia/Tokyo": "2024-12-31 07:30:00|2024-12-31|7|Asia/Tokyo",
			"Europe/Kiev": "2024-12-31 00:30:00|2024-12-31|0|Europe/Kiev", "UTC": "2024-12-30 22:30:00|2024-12-30|22|UTC",
		} {
			k.inZone(t, text, zone, want)
		}
		q := k.query(t, text)
		q.Zone = "'; DROP TABLE people"
		_, err := all(ctx, q)
		k.says(t, q.Zone, err, "is no time zone")
		k.do(t, "ALTER ROLE reader SET timezone = '<+02>-02'")
		_, err = all(ctx, k.query(t, text))
		k.says(t, "a zone without a name", err, "write zone: in the mapping")
	})
	// settings of the account change no cell, except its time zone
	t.Run("settings", func(t *testing.T) {
		k.do(t, "ALTER ROLE reader SET timezone = 'Asia/Tokyo'",
			"ALTER ROLE reader SET datestyle = 'German'",
			"ALTER ROLE reader SET extra_float_digits = -15")
		rows, err := all(ctx, k.query(t, "SELECT '2024-12-31 08:30Z'::timestamptz AS a, '2024-12-31'::date AS b, 0.1::float8 + 0.2 AS c"))
		if want := "2024-12-31 17:30:00|2024-12-31|0.30000000000000004"; err != nil || strings.Join(rows[0], "|") != want {
			t.Errorf("%q, %v, want %s", rows, err, want)
		}
	})
	t.Run("transaction", func(t *testing.T) {
		rows, err := all(ctx, k.query(t, "SELECT current_setting('transaction_isolation') AS a, current_setting('transaction_read_only') AS b, current_setting('statement_timeout') LIKE '179%ms' AS c"))
		if want := "repeatable read|on|true"; err != nil || strings.Join(rows[0], "|") != want {
			t.Errorf("%q, %v, want %s", rows, err, want)
		}
	})
	k.reaches(t, map[string]string{
		strings.Replace(k.dsn, testserver.Password, "wrong-"+testserver.Password, 1): denied,
		strings.Replace(k.dsn, "user=reader", "user=nobody", 1):                      denied,
		strings.Replace(k.dsn, "dbname=caucus", "dbname=other", 1):                   denied,
		"postgres://reader:" + testserver.Password + "@127.0.0.1:1/caucus":           "nothing answers",
		"postgres://reader:" + testserver.Password + "@no.such.invalid/caucus":       "",
		"host=/nowhere user=reader password=" + testserver.Password:                  "nothing answers",
		"postgres://reader:" + testserver.Password + "@[":                            noAddress,
	})
	k.killed(t, s)
}

func TestMariaDB(t *testing.T) {
	s := testserver.MariaDB(t)
	k := kind{
		zone: time.FixedZone("", 9*3600), driver: MySQL, db: s.DB, dsn: s.DSN, secret: []string{testserver.Password, "unix(", "reader"},
		create: `CREATE TABLE every (id INT, big BIGINT, little SMALLINT, flag BOOLEAN, single FLOAT, many DOUBLE,
			price DECIMAL(20, 3), born DATE, seen DATETIME(6), at_utc TIMESTAMP(6) NULL, clock TIME(6), name TEXT, code CHAR(5)) CHARACTER SET utf8mb4`,
		insert: "INSERT INTO every VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, FROM_UNIXTIME(?), ?, ?, ?)",
		read:   "SELECT id, big, little, IF(flag, 'true', 'false') AS flag, single, many, price, born, seen, at_utc, clock, name, code FROM every WHERE flag IS NOT NULL UNION ALL SELECT * FROM every WHERE flag IS NULL ORDER BY id",
		value: func(column string, v any) any {
			if v, ok := v.(time.Time); ok {
				if column == "at_utc" {
					return fmt.Sprintf("%d.%06d", v.UnixMicro()/1e6, v.UnixMicro()%1e6)
				}
				return v.Format("2006-01-02 15:04:05.000000")
			}
			return v
		},
		grant:   "GRANT SELECT ON caucus.%s TO reader@localhost", // and on all, below
		numbers: "SELECT seq AS n FROM seq_1_to_%d",
		slow:    "SELECT SLEEP(60) AS n",
		broken: map[string]string{
			"SELECT exp(1000 + id) AS n FROM people":      unfit,
			"SELECT Password FROM mysql.user":             mayNotRead,
			"SELECT id AS `` FROM people":                 "no name",
			"SELECT tell(name) AS n FROM people":          "a reason that may quote a record",
			"SELECT id FROM people INTO OUTFILE '/tmp/x'": "INTO, which writes",
			"SELECT nosuchfunction(id) AS n FROM people":  mayNotRead,
			"SELECT (SELECT id FROM people) AS n":         "a reason that may quote a record",
		},
		writes: []string{
			"INSERT INTO people VALUES (3, 'x')", "DELETE FROM people", "SELECT bump() AS n", "SELECT NEXTVAL(counter) AS n", "CREATE TABLE other (x INT)",
		},
		refused: map[string]string{
			"SELECT id, photo FROM photos":                    "blob",
			"SELECT x'00' AS photo FROM people":               "varbinary",
			"SELECT b'1' + 0 AS n, bits AS photo FROM photos": "bit",
		},
	}
	k.do(t, "SET GLOBAL time_zone = '+09:00'", "CREATE TABLE photos (id INT, photo BLOB, bits BIT(3))", "GRANT ALL ON caucus.photos TO reader@localhost", "CREATE SEQUENCE counter",
		"GRANT ALL ON caucus.counter TO reader@localhost", "CREATE TABLE bumped (x INT)",
		"GRANT CREATE ON caucus.* TO reader@localhost",
		"CREATE FUNCTION bump() RETURNS INT BEGIN INSERT INTO bumped VALUES (1); RETURN 1; END",
		"CREATE FUNCTION tell(t TEXT) RETURNS INT BEGIN SIGNAL SQLSTATE '42S02' SET MESSAGE_TEXT = t, MYSQL_ERRNO = 1146; RETURN 1; END",
		"GRANT EXECUTE ON FUNCTION caucus.bump TO reader@localhost", "GRANT EXECUTE ON FUNCTION caucus.tell TO reader@localhost",
		"CREATE TABLE people2 (id INT)", "GRANT ALL ON caucus.people2 TO reader@localhost", "GRANT SELECT, INSERT, DELETE ON caucus.* TO reader@localhost")
	k.suite(t)
	ctx := context.Background()

	t.Run("forms", func(t *testing.T) {
		k.do(t, "SET SESSION sql_mode = ''", `CREATE TABLE odd (a DATE, b DATETIME, c TIME, d BIGINT UNSIGNED, e ENUM('x', 'y'), f SET('x', 'y'),
			g YEAR, h FLOAT, i UUID, j JSON, k DOUBLE, l CHAR(5))`,
			`INSERT INTO odd VALUES ('2024-12-31', '2024-12-31', '-100:30:00', 18446744073709551615, 'y', 'x,y', 2024, 16777216, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}', -0.0, ' a ')`,
			"GRANT SELECT ON caucus.odd TO reader@localhost")
		rows, err := all(ctx, k.query(t, "SELECT * FROM odd"))
		want := `2024-12-31|2024-12-31|-100:30:00|18446744073709551615|y|x,y|2024|16777216|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|{"a": 1}|0|a`
		if err != nil || strings.Join(rows[0], "|") != want {
			t.Errorf("%q, %v, want %s", rows, err, want)
		}
		rows, err = all(ctx, k.query(t, "SELECT FROM_UNIXTIME(0) AS a, FROM_UNIXTIME(1735633800) AS b"))
		if want := "1970-01-01 09:00:00|2024-12-31 17:30:00"; err != nil ||
			strings.Join(rows[0], "|") != want {
			t.Errorf("%q, %v, want %s", rows, err, want)
		}
		rows, err = all(ctx, k.query(t, "SELECT @@max_statement_time > 1700 AS a, @@net_write_timeout > 1700 AS b, @@tx_isolation AS c"))
		if want := "1|1|REPEATABLE-READ"; err != nil || strings.Join(rows[0], "|") != want {
			t.Errorf("%q, %v, want %s", rows, err, want)
		}
		rows, err = all(ctx, k.query(t, "SELECT CAST('0000-00-00' AS DATE) AS a, NULL AS b, 1.50 AS c, 1 = 1 AS d, TIMESTAMP'2024-12-31 08:30:00.5' AS e, TIME'08:30:00' AS f"))
		if want := "||1.50|1|2024-12-31 08:30:00.5|08:30:00"; err != nil ||
			strings.Join(rows[0], "|") != want {
			t.Errorf("%q, %v, want %s", rows, err, want)
		}
	})
	t.Run("zone", func(t *testing.T) {
		// 22:30 UTC
		const text = "SELECT FROM_UNIXTIME(1735597800) AS v, CAST(DATE(FROM_UNIXTIME(1735597800)) AS CHAR) AS d"
		k.inZone(t, text, "", "2024-12-31 07:30:00|2024-12-31|+09:00")
		q := k.query(t, text)
		q.Zone = "Europe/Berlin"
		_, err := all(ctx, q)
		k.says(t, "a zone that is not loaded", err, noZone)
		k.do(t, "USE mysql", "INSERT INTO time_zone VALUES (1, 'N')", "INSERT INTO time_zone_name VALUES ('Europe/Berlin', 1)",
			"INSERT INTO time_zone_transition_type VALUES (1, 0, 3600, 0, 'CET')", "USE caucus")
		k.inZone(t, text, "Europe/Berlin", "2024-12-30 23:30:00|2024-12-30|Europe/Berlin")
	})
	k.reaches(t, map[string]string{
		strings.Replace(k.dsn, testserver.Password, "wrong-"+testserver.Password, 1):         denied,
		strings.Replace(k.dsn, "reader:", "nobody:", 1):                                      denied,
		strings.Replace(k.dsn, "/caucus", "/mysql", 1):                                       mayNotRead,
		"reader:" + testserver.Password + "@tcp(127.0.0.1:1)/caucus":                         "nothing answers",
		"reader:" + testserver.Password + "@unix(/nowhere)/caucus":                           "nothing answers",
		"reader:" + testserver.Password + "@unix(/nowhere":                                   noAddress,
		k.dsn + "?multiStatements=true&parseTime=true&interpolateParams=true&charset=latin1": "",
	})
	k.killed(t, s)
}

// inZone: a query in a zone gives one row, followed by the name of the session's zone.
func (k kind) inZone(t *testing.T, text, zone, want string) {
	t.Helper()
	q := k.query(t, text)
	q.Zone = zone
	r, err := Open(context.Background(), q)
	if err != nil {
		t.Errorf("%s: %v", zone, err)
		return
	}
	defer r.Close()
	rows, err := rest(r)
	if err != nil || len(rows) != 1 || strings.Join(append(rows[0], r.Zone()), "|") != want {
		t.Errorf("%s: %q in %s, %v, want %s", zone, rows, r.Zone(), err, want)
	}
}

// reaches: each wrong address is an error with this text; for "", anything but a panic is fine.
func (k kind) reaches(t *testing.T, addresses map[string]string) {
	t.Run("addresses", func(t *testing.T) {
		for dsn, want := range addresses {
			k := k
			k.dsn = dsn
			rows, err := all(context.Background(), k.query(t, "SELECT 1 AS n"))
			if want != "" || err != nil {
				k.says(t, want, err, want)
			} else if len(rows) != 1 || rows[0][0] != "1" {
				t.Errorf("%q", rows)
			}
		}
	})
}

// killed: if the server dies while rows are read, the reader gets an error, not the end.
func (k kind) killed(t *testing.T, s *testserver.Server) {
	t.Run("killed", func(t *testing.T) {
		r, err := Open(context.Background(), k.query(t, fmt.Sprintf(k.numbers, 20_000_000)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		_, err = rest(r)
		k.says(t, "a server that was killed", err, goneAway)
		if !strings.Contains(fmt.Sprint(err), "rows: ") || r.Place() >= 20_000_000 {
			t.Errorf("%v at %d", err, r.Place())
		}
		_, again, _ := r.Next()
		if again {
			t.Error("there are rows after the error")
		}
		_, err = all(context.Background(), k.query(t, "SELECT 1 AS n"))
		k.says(t, "a server that is gone", err, "nothing answers")
	})
}
