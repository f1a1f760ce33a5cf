package files

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"caucus/dataset"
	"caucus/dataset/dates"
)

// unreadable is the cell of a value that its type does not have, such as a time of day past
// midnight. It is no text, so that Collect counts it.
const unreadable = "\x00"

// textOf returns how values of a column become text, by the type that the file declares: its
// logical type, else the converted type of older writers, and Arrow's type where Parquet has none.
// why says what a column is that has no text.
func textOf(e format.SchemaElement, arrow arrowType) (text func(parquet.Value) string, why string) {
	switch l := logicalType(e).(type) {
	case nil:
	case *format.DateType:
		return func(v parquet.Value) string {
			return orUnreadable(dataset.DayText(int64(
				v.Int32())))
		}, ""
	case *format.TimestampType:
		unit, utc := unitOf(l.Unit), zoneOf(l.IsAdjustedToUTC)
		if utc != "" && arrow.zone != "" && arrow.zone != "UTC" {
			return zonedText(unit, arrow.zone, parquet.Value.Int64)
		}
		return func(v parquet.Value) string {
			return orUnreadable(dataset.MomentText(v.Int64(),
				unit, utc))
		}, ""
	case *format.TimeType:
		unit, utc := unitOf(l.Unit), zoneOf(l.IsAdjustedToUTC)
		return func(v parquet.Value) string { return timeText(v, unit, utc) }, ""
	case *format.DecimalType:
		scale := int(l.Scale)
		return func(v parquet.Value) string { return decimalText(v, scale) }, ""
	case *format.IntType:
		if !l.IsSigned {
			return unsignedText, ""
		}
	case *format.UUIDType:
		return func(v parquet.Value) string { return hex.EncodeToString(v.ByteArray()) }, ""
	case *format.Float16Type:
		return halfText, ""
	case *format.StringType, *format.EnumType, *format.JsonType, *format.NullType:
	default:
		return nil, "a column of type " + strings.ToLower(fmt.Sprint(l))
	}
	switch {
	case e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Interval:
		return nil, "an interval of months, days and milliseconds"
	case e.Type.V == format.FixedLenByteArray && e.LogicalType.Value == nil:
		return nil, "a column of bytes"
	case e.Type.V == format.Int96 && arrow.zone != "":
		return zonedText(1e6, arrow.zone, microseconds)
	case arrow.spanPerDay > 0:
		return func(v parquet.Value) string {
			return dataset.NumberText(float64(v.Int64())/arrow.spanPerDay, 64)
		}, ""
	}
	return plainText, ""
}

// logicalType returns a column's logical type, also of older files, which have a converted type for
// it.
func logicalType(e format.SchemaElement) format.LogicalTypeValue {
	if l := e.LogicalType.Value; l != nil || !e.ConvertedType.Valid {
		return l
	}
	millis, micros := format.TimeUnit{Value: &format.MilliSeconds{}},
		format.TimeUnit{Value: &format.MicroSeconds{}}
	switch e.ConvertedType.V {
	case deprecated.Date:
		return &format.DateType{}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: millis}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: micros}
	case deprecated.TimeMillis:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: millis}
	case deprecated.TimeMicros:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: micros}
	case deprecated.Decimal:
		return &format.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return &format.IntType{}
	case deprecated.Bson:
		return &format.BsonType{}
	}
	return nil
}

func orUnreadable(text string) string {
	if text == "" {
		return unreadable
	}
	return text
}

func unsignedText(v parquet.Value) string {
	if v.Kind() == parquet.Int32 {
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	}
	return strconv.FormatUint(v.Uint64(), 10)
}

// unitOf returns the units per second of a timestamp.
func unitOf(u format.TimeUnit) int64 {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return 1e3
	case *format.MicroSeconds:
		return 1e6
	}
	return 1e9
}

func plainText(v parquet.Value) string {
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float:
		return floatText(float64(v.Float()), 32)
	case parquet.Double:
		return floatText(v.Double(), 64)
	case parquet.Int96:
		day, rest, ok := dayAndRest(v)
		if !ok {
			return unreadable
		}
		return orUnreadable(dataset.DayMomentText(day, rest, 1e9, ""))
	}
	return strings.TrimSpace(string(v.ByteArray()))
}

// noZone is a column of moments that may be UTC's (Spark) or a site's (Impala).
const noZone dataset.Problem = "moments without a stated zone (INT96), taken for the day that is " +
	"written there, though it may be UTC's: write them anew as timestamps with a zone"

// dayAndRest reads a timestamp of Spark and Impala: nanoseconds of a day, and a Julian day.
func dayAndRest(v parquet.Value) (day, rest int64, ok bool) {
	n := v.Int96()
	rest = int64(uint64(n[1])<<32 | uint64(n[0]))
	return int64(n[2]) - 2440588, rest, rest >= 0 && rest < 86400e9
}

// microseconds is such a timestamp since 1970, or, if it is none of the years 1 to 9999, a number
// after them.
func microseconds(v parquet.Value) int64 {
	day, rest, ok := dayAndRest(v)
	if !ok || dataset.DayText(day) == "" {
		return math.MaxInt64 / 2
	}
	return day*86400e6 + rest/1000
}

// floatText writes a number. A NaN is a missing value; an infinity is not, and no number either.
func floatText(f float64, bits int) string {
	if math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	return dataset.NumberText(f, bits)
}

// halfText writes a number of IEEE 754's binary16: 1 bit sign, 5 exponent, 10 fraction.
func halfText(v parquet.Value) string {
	b := v.ByteArray()
	if len(b) != 2 {
		return unreadable
	}
	h := binary.LittleEndian.Uint16(b)
	exponent, fraction := int(h>>10&31), float64(h&1023)
	var f float64
	switch exponent {
	case 0: // subnormal
		f = math.Ldexp(fraction, -24)
	case 31:
		if f = math.Inf(1); fraction > 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 == 1 {
		f = -f
	}
	return floatText(f, 32)
}

func zoneOf(utc bool) string {
	if utc {
		return "Z"
	}
	return ""
}

// zonedText writes moments as they were shown in a zone, with its offset from UTC, as programs
// export them to text. The zone is named, or an offset such as +05:30; since counts a moment's
// units from 1970.
func zonedText(unit int64, name string,
	since func(parquet.Value) int64) (text func(parquet.Value) string, why string) {
	in, err := dates.ZoneNamed(name)
	if sign, hours, minutes := 0, 0, 0; err != nil {
		if n, _ := fmt.Sscanf(name, "%3d:%2d", &hours, &minutes); n != 2 || len(name) != 6 {
			return nil, fmt.Sprintf("moments in a time zone %q that is not known", name)
		}
		if sign = 1; name[0] == '-' {
			sign = -1
		}
		offset := int64(hours*3600 + sign*minutes*60)
		in = func(int64) int64 { return offset }
	}
	return func(v parquet.Value) string {
		at := since(v)
		second := at / unit
		if at%unit < 0 {
			second--
		}
		offset := in(second)
		sign, minutes := '+', offset/60
		if offset < 0 {
			sign, minutes = '-', -minutes
		}
		shown := fmt.Sprintf("%c%02d:%02d", sign, minutes/60, minutes%60)
		return orUnreadable(dataset.MomentText(at+offset*unit, unit, shown))
	}, ""
}

// timeText writes a time of day counted in 1/unit seconds.
func timeText(v parquet.Value, unit int64, zone string) string {
	t := v.Int64()
	if v.Kind() == parquet.Int32 {
		t = int64(v.Int32())
	}
	if t < 0 || t >= 86400*unit {
		return unreadable
	}
	return dataset.ClockText(t, unit) + zone
}

// decimalText writes a whole number with a point scale digits from its end.
func decimalText(v parquet.Value, scale int) string {
	var n big.Int
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default: // two's complement, big-endian
		b := v.ByteArray()
		if len(b) > 64 { // 32 bytes hold the digits of any decimal
			return unreadable
		}
		n.SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			n.Sub(&n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	if scale <= 0 || scale > 100 {
		return n.String()
	}
	digits := new(big.Int).Abs(&n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	text := digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text
}
