package database

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// What is wrong, and what to do. A database's own words may quote a record, and a driver's the
// address: neither is passed on.
const (
	denied     = "the database refuses the account: check the name, the password and the database in dsn_file"
	mayNotRead = "the account in dsn_file may not read what the query names, or there is no such thing: check the names, and let it by GRANT SELECT"
	writes     = "the query would write, lock or change a setting: write one that only reads"
	tooLong    = "the query took longer than its timeout, or somebody stopped it: raise timeout, or ask for less"
	goneAway   = "the database went away or broke the connection: see that it runs, and start again"
	unfit      = "a value of a record does not fit a cast, a division or another computation of the query: write the query so that such a value gives NULL"
	noRoom     = "the database lacks memory, disk space or connections: make room, and start again"
	busy       = "another program changed or holds what the query reads: start again"
)

const noAddress ours = "dsn_file: it holds no address of this kind of database: write postgres://name:password@host:5432/database, for mysql name:password@tcp(host:3306)/database, for sqlite the path of the file"

// causes are by SQLSTATE or its class, by MySQL's number, and by SQLite's primary code.
var causes = map[string]map[string]string{
	Postgres: {
		"28": denied, "3D": denied, "42501": mayNotRead, "25": writes, "57014": tooLong, "57": goneAway, "08": goneAway,
		"22": unfit, "53": noRoom, "40": busy, "55": busy,
	},
	MySQL: {
		"1045": denied, "1049": denied, "1698": denied, "1044": mayNotRead, "1142": mayNotRead, "1143": mayNotRead, "1370": mayNotRead,
		"1792": writes, "1290": writes, "1969": tooLong, "3024": tooLong, "1317": tooLong, "1053": goneAway, "1927": goneAway,
		"1292": unfit, "1365": unfit, "1366": unfit, "1690": unfit, "1021": noRoom, "1037": noRoom, "1038": noRoom, "1040": noRoom, "1114": noRoom, "1203": noRoom,
		"1205": busy, "1213": busy, "1412": busy,
	},
	SQLite: {
		"3": mayNotRead, "23": mayNotRead, "8": writes, "9": tooLong, "7": noRoom, "13": noRoom, "5": busy, "6": busy, "10": "the disk failed, or dsn_file names no file: check it",
		"11": "the database is damaged: restore it from a backup", "26": "dsn_file names a file that is no SQLite database: write the path of one",
		"14": "the database that dsn_file names cannot be opened: check its path, and that this account may read it",
	},
}

// ofText are MySQL's numbers of errors whose words are about the statement's text alone.
var ofText = strings.Fields("1052 1054 1055 1056 1064 1066 1109 1111 1140 1146 1222 1248 1305 1582 1630")

// explained says what an error means, without the address and without words that may quote a
// record. While a statement is parsed no record is read, so what the database says is of its text.
func (r *Rows) explained(err error, parsing bool) error {
	var (
		fromPostgres *pgconn.PgError
		fromMySQL    *mysql.MySQLError
		fromSQLite   *sqlite.Error
		own          ours
	)
	code, its := "", ""
	switch {
	case errors.Is(r.ctx.Err(), context.DeadlineExceeded):
		return errors.New(tooLong)
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.As(err, &own):
		return own
	case errors.As(err, &fromPostgres):
		code, its = fromPostgres.Code, fromPostgres.Message
	case errors.As(err, &fromMySQL):
		code = strconv.Itoa(int(fromMySQL.Number))
		if slices.Contains(ofText, code) {
			its = fromMySQL.Message
		}
	case errors.As(err, &fromSQLite):
		code, its = strconv.Itoa(fromSQLite.Code()&0xff), fromSQLite.Error()
	case r.source == nil:
		return unreached(err)
	default:
		return r.after(goneAway, "")
	}
	says := causes[r.query.Driver][code]
	if says == "" && r.query.Driver == Postgres && len(code) > 2 {
		says = causes[Postgres][code[:2]]
	}
	switch {
	case says != "":
		return r.after(says, code)
	case parsing && its != "":
		return fmt.Errorf("sql: the database does not understand it: %s (error %s of %s)", its, code, r.query.Driver)
	}
	return r.after("the database stopped the query, for a reason that may quote a record and is left out: run the query in the database's own program to see it", code)
}

// after says how far the query was, and the database's code.
func (r *Rows) after(says, code string) error {
	if code != "" {
		says += fmt.Sprintf(" (error %s of %s)", code, r.query.Driver)
	}
	if r.place > 0 {
		return fmt.Errorf("after %d rows: %s", r.place, says)
	}
	return errors.New(says)
}

// ours is an error in words of this package.
type ours string

func (e ours) Error() string { return string(e) }

// unreached says why there is no connection, without its address.
func unreached(err error) error {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &name):
		return errors.New("no machine has the name that stands in dsn_file: check it")
	case errors.As(err, &certificate):
		return errors.New("this machine does not trust the database's certificate: name that of its authority in dsn_file")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return errors.New("nothing answers at the address in dsn_file: see that the database runs, and check address and port")
	}
	return errors.New("the database cannot be reached: check the address, the port and what dsn_file says of TLS")
}
