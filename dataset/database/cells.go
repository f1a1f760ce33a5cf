package database

import (
	"strconv"
	"strings"
	"time"

	"caucus/dataset"
)

// form turns a value as the database writes it into a cell.
type form func(written string) string

var plain form = strings.TrimSpace

// forms are those of each kind's types. A column of another type is refused.
var forms = map[string]map[string]form{
	Postgres: {
		"bool": boolean, "int2": plain, "int4": plain, "int8": plain, "oid": plain, "float4": number(32), "float8": number(64),
		"numeric": decimal, "date": moment(""), "timestamp": moment(""), "timestamptz": moment("Z"), "time": clock, "uuid": plain, "text": plain,
	},
	MySQL: {
		"tinyint": plain, "smallint": plain, "mediumint": plain, "int": plain, "bigint": plain, "year": plain, "float": plain, "double": plain,
		"decimal": plain, "date": moment(""), "datetime": moment(""), "timestamp": moment("Z"), "time": clock, "enum": plain, "set": plain,
		"char": plain, "varchar": plain, "tinytext": plain, "text": plain, "mediumtext": plain, "longtext": plain, "null": plain,
	},
}

// cell is a value as a driver gives it.
func (f form) cell(v any) string {
	switch v := v.(type) {
	case string:
		return f(v)
	case []byte:
		return f(string(v))
	case int64:
		return f(strconv.FormatInt(v, 10))
	case float32:
		return dataset.NumberText(float64(v), 32)
	case float64:
		return dataset.NumberText(v, 64)
	case time.Time:
		return momentOf(v)
	}
	return ""
}

func boolean(written string) string {
	switch written {
	case "t", "1":
		return "true"
	case "f", "0":
		return "false"
	}
	return plain(written)
}

func number(bits int) form {
	return func(written string) string {
		v, err := strconv.ParseFloat(written, bits)
		if err != nil {
			return ""
		}
		return dataset.NumberText(v, bits)
	}
}

// decimal is without the numbers that are not finite.
func decimal(written string) string {
	if strings.ContainsAny(written, "ay") { // NaN, Infinity
		return ""
	}
	return written
}

// moment is a date or timestamp; "" if it is none of the years 1 to 9999, such as infinity.
func moment(zone string) form {
	return func(written string) string {
		written = strings.TrimSuffix(written, "+00")
		t, err := time.Parse(time.DateTime, written)
		if err != nil {
			if t, err = time.Parse(time.DateOnly, written); err != nil {
				return ""
			}
		}
		return dataset.MomentText(t.UnixMicro(), 1e6, zone)
	}
}

// momentOf is a timestamp of SQLite, whose zone is part of it.
func momentOf(t time.Time) string {
	zone := ""
	if _, offset := t.Zone(); offset != 0 {
		zone = "Z"
	}
	return dataset.MomentText(t.UnixMicro(), 1e6, zone)
}

// clock is a time of day, or MySQL's span of time.
func clock(written string) string {
	if strings.Contains(written, ".") {
		written = strings.TrimRight(strings.TrimRight(written, "0"), ".")
	}
	return written
}
