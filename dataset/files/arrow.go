package files

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

// arrowType is what a column's Arrow type says beyond its Parquet type.
type arrowType struct {
	spanPerDay float64 // of a duration, which Parquet has no type for: its units in a day
	moment     bool    // a moment, of which zone says all
	zone       string  // of a moment: the time zone in which its program showed it
}

// arrowTypes reads the schema that Arrow's writers (pandas, polars, R) leave beside Parquet's own,
// in the footer's ARROW:schema: a flatbuffer in an IPC message, and what pandas says there. Names
// of columns within structs are joined by points. A file without it, or with another, gives none;
// broken offsets panic, as the caller allows.
func arrowTypes(metadata []format.KeyValue) map[string]arrowType {
	r := arrowReader{types: map[string]arrowType{}, left: maxFields}
	for _, kv := range metadata {
		if kv.Key == "pandas" {
			r.pandas(kv.Value)
		}
		if kv.Key != "ARROW:schema" {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(kv.Value)
		if err != nil || len(b) < 8 {
			continue
		}
		if binary.LittleEndian.Uint32(b) == 0xffffffff { // since Arrow 0.15
			b = b[4:]
		}
		r.flatbuffer = b[4:]                               // behind the message's length
		if message := r.at(0); r.byteOf(message, 1) == 1 { // a schema
			r.fields(r.table(message, 2), 1, "")
		}
	}
	return r.types
}

// pandas reads the moments among the columns that pandas names, for files without Arrow's schema.
func (a *arrowReader) pandas(text string) {
	var says struct {
		Columns []struct {
			Name     string `json:"field_name"`
			Type     string `json:"pandas_type"`
			Metadata struct {
				Timezone string `json:"timezone"`
			} `json:"metadata"`
		} `json:"columns"`
	}
	_ = json.Unmarshal([]byte(text), &says) // what is not pandas' says nothing
	for _, c := range says.Columns {
		if zone := c.Metadata.Timezone; strings.HasPrefix(c.Type, "datetime") {
			a.types[c.Name] = arrowType{moment: true, zone: zone}
		}
	}
}

// maxFields bounds the fields that are visited, because a damaged schema may share them.
const maxFields = 1 << 20

type arrowReader struct {
	flatbuffer
	types map[string]arrowType
	left  int // fields that may still be visited
}

// flatbuffer is a buffer of google/flatbuffers: places are offsets from its start; 0 is no place.
type flatbuffer []byte

// at follows the offset that stands at a place.
func (f flatbuffer) at(place int) int { return place + int(binary.LittleEndian.Uint32(f[place:])) }

// field returns the place of a table's field, 0 if the table leaves it out.
func (f flatbuffer) field(table, number int) int {
	fields := table - int(int32(binary.LittleEndian.Uint32(f[table:])))
	if table == 0 || 4+2*number >= int(binary.LittleEndian.Uint16(f[fields:])) {
		return 0
	}
	if offset := int(binary.LittleEndian.Uint16(f[fields+4+2*number:])); offset > 0 {
		return table + offset
	}
	return 0
}

func (f flatbuffer) table(table, number int) int {
	if place := f.field(table, number); place > 0 {
		return f.at(place)
	}
	return 0
}

func (f flatbuffer) byteOf(table, number int) byte {
	if place := f.field(table, number); place > 0 {
		return f[place]
	}
	return 0
}

func (f flatbuffer) text(table, number int) string {
	place := f.table(table, number)
	if place == 0 {
		return ""
	}
	return string(f[place+4 : place+4+int(binary.LittleEndian.Uint32(f[place:]))])
}

// fields reads a vector of Field tables (arrow/format/Schema.fbs), and those within structs.
func (a *arrowReader) fields(table, number int, within string) {
	vector := a.table(table, number)
	if vector == 0 {
		return
	}
	for i := range int(binary.LittleEndian.Uint32(a.flatbuffer[vector:])) {
		if a.left--; a.left < 0 {
			return
		}
		field := a.at(vector + 4 + 4*i)
		name, of := within+a.text(field, 0), a.table(field, 3)
		const timestamp, aStruct, duration = 10, 13, 18
		switch a.byteOf(field, 2) {
		case timestamp:
			a.types[name] = arrowType{moment: true, zone: a.text(of, 1)}
		case aStruct:
			a.fields(field, 5, name+".")
		case duration:
			perSecond := 1e3 // the default of this field alone
			if a.field(of, 0) > 0 {
				perSecond = []float64{1, 1e3, 1e6, 1e9}[a.byteOf(of, 0)&3]
			}
			a.types[name] = arrowType{spanPerDay: 86400 * perSecond}
		}
	}
}
